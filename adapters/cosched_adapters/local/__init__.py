"""Jobs as processes of this host. Each runs under a small supervisor process that outlives the service.

The service's side: `manager`, `follow`, `process`, `spool`, `checks`, `environment`, `settings`. The supervisor's side:
`supervisor` and `forkserver`, which forks all supervisors of a service; `supervise`, `child`, `ending`, `recovery`.
It imports next to nothing, to stay small and start fast. Both sides use files in the spool (`files`, `jobfile`,
`record`) and `processes`, which reads /proc.

In the folder of a job the service writes `job.json` and `script`, before the folder appears under its name, and the
mark `cancel`. The supervisor that holds `lock` writes `record.json`.
"""
