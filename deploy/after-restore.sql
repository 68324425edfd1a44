-- For a database that was restored from a backup, before its service is started: see docs/operating.md.
--   sqlite3 /var/lib/cosched/intrepid.db < deploy/after-restore.sql
-- Nobody knows what became of the jobs that had not ended when the backup was made, so they count as failed. Ids
-- that may have been used since are skipped: the other domains remember them.
BEGIN IMMEDIATE;
UPDATE jobs
    SET state = 6,  -- failed; 5 is completed, lower states have not ended
        reason = '',
        user_hold = 0,
        ended_at = (SELECT coalesce(max(at), 0) FROM events),
        end_text = 'lost: the database was restored from a backup',
        memory = json_remove(memory, '$.call')
    WHERE state < 5;
UPDATE sqlite_sequence SET seq = seq + 1000000 WHERE name IN ('jobs', 'events');
COMMIT;
