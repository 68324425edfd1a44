"""Jobs as processes of this host. Each runs under a small supervisor process that outlives the service.

The service's side: `manager`, `follow`, `process`, `spool`, `checks`, `environment`, `settings`. The supervisor's side,
which imports next to nothing in order to stay small and start fast: `supervisor` and `forkserver`, from which all
supervisors of a service are forked; `supervise`, `child`, `ending`, `recovery`. Between them: files in the spool
(`files`, `jobfile`, `record`) and `processes`, what /proc says.

Who writes what in the folder of a job: `job.json` and `script` the service, before the folder appears under its name;
`record.json` the supervisor that holds `lock`; `cancel`, a mark, the service.
"""
