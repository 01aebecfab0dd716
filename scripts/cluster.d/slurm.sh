# A real Slurm on the cluster: munged and slurmctld on a host "controller" with an unshaped link, one slurmd a host.
#
# All of it runs inside the cluster's namespaces, so it ends with them, and writes below $state/slurm. The machine
# itself gets a link to the switch, over which sbatch and squeue reach the controller.
# shellcheck shell=bash disable=SC2154

need_slurm_packages() {
  local file
  for file in /usr/sbin/munged /usr/sbin/slurmctld /usr/sbin/slurmd /usr/bin/sinfo '/usr/lib/*/slurm-wlm/mpi_pmix.so'; do
    compgen -G "$file" >/dev/null ||
      fail "--slurm needs $file: apt-get install slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins"
  done
}

write_slurm_conf() {
  cat <<END
ClusterName=$name
SlurmctldHost=controller($subnet.253)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$slurm_state/munge.socket
StateSaveLocation=$slurm_state/state
SlurmctldPidFile=$slurm_state/slurmctld.pid
SlurmctldLogFile=$slurm_state/log/slurmctld.log
SlurmdSpoolDir=$slurm_state/spool/%n
SlurmdPidFile=$slurm_state/slurmd.%n.pid
SlurmdLogFile=$slurm_state/log/slurmd.%n.log
JobCompType=jobcomp/filetxt
JobCompLoc=$slurm_state/log/jobs.txt
TaskProlog=$slurm_state/task_prolog
# No control groups, no systemd.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=pmix
# Believe this file, not the hardware: the hosts have more CPUs together than the machine.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5,batch_sched_delay=1
MaxArraySize=10001
MaxJobCount=20000
MinJobAge=600
ReturnToService=2
KillWait=5
InactiveLimit=0
TreeWidth=65533
PropagateResourceLimits=NONE
NodeName=h[0-$((hosts - 1))] NodeAddr=$subnet.[1-$hosts] CPUs=1 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
END
}

# What a task finds in its environment: the same as under `cluster run`. Slurm takes each printed line to its end, unquoted.
write_task_prolog() {
  cat <<END
#!/bin/sh
echo "export DSOP_CLUSTER=$(describe_cluster) slurm=yes"
echo "export OMP_NUM_THREADS=\${OMP_NUM_THREADS:-1}"
echo "export OPENBLAS_NUM_THREADS=\${OPENBLAS_NUM_THREADS:-1}"
for setting in btl=tcp,self btl_tcp_if_include=eth0 oob_tcp_if_include=eth0 mpi_yield_when_idle=1 \\
  orte_tmpdir_base=$slurm_state/tmp; do
  echo "export OMPI_MCA_\$setting"
done
echo "export PRTE_MCA_prte_tmpdir_base=$slurm_state/tmp"
if [ "\$(id -u)" = 0 ]; then
  echo "export OMPI_ALLOW_RUN_AS_ROOT=1"
  echo "export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
fi
END
}

write_slurm_files() {
  mkdir -p "$slurm_state"/{state,log,spool,tmp}
  write_slurm_conf >"$slurm_state/slurm.conf"
  # Read even where no plugin uses control groups; naming v1 keeps slurmd from looking for systemd.
  printf '%s\n' CgroupPlugin=cgroup/v1 CgroupAutomount=no >"$slurm_state/cgroup.conf"
  # PMIx's folders carry no node's name: each host mounts its own at this place.
  # Not the tree: with fewer nodes than TreeWidth its fences wait for nobody: docs/programs/sweeps.md.
  printf '%s\n' "PMIxCliTmpDirBase=$slurm_state/tmp" PMIxCollFence=ring >"$slurm_state/mpi.conf"
  write_task_prolog >"$slurm_state/task_prolog"
  chmod +x "$slurm_state/task_prolog"
  (umask 077 && head -c 1024 /dev/urandom >"$slurm_state/munge.key")
}

# Daemons must keep nothing that the caller has open: the lock of `up`, that of results, a pipe whose end somebody waits for.
start_daemon() (
  for descriptor in "/proc/$BASHPID/fd"/*; do
    descriptor=${descriptor##*/}
    ((descriptor < 3)) || exec {descriptor}>&-
  done
  exec "$state/remote_shell" "$@" </dev/null >>"$slurm_state/log/start.log" 2>&1
)

slurm_fail() {
  tail -n 3 "$slurm_state"/log/* >&2
  fail "Slurm did not start: $*"
}

wait_for_nodes() {
  local up tries
  for ((tries = 0; tries < 120; tries++)); do
    up=$(count_slurm_nodes) || up=0
    ((up < hosts)) || return 0
    sleep 0.25
  done
  slurm_fail "only $up of $hosts nodes are up after 30 s"
}

count_slurm_nodes() {
  SLURM_CONF=$slurm_state/slurm.conf timeout 5 sinfo -h -N -r -t idle,mix,alloc,comp -o '%N %T' 2>/dev/null |
    grep -vc '[*]' || true
}

start_slurm() {
  slurm_state=$state/slurm
  make_host controller "$subnet.253" core
  make link "dsop${subnet##*.}" type veth peer name machine netns "$switches"
  ip -n "$switches" link set machine master core up
  ip address add "$subnet.254/24" dev "dsop${subnet##*.}"
  ip link set "dsop${subnet##*.}" up
  printf '%s\n' "$subnet.253 controller" "$subnet.254 $(hostname -s)" >>"$state/hosts"
  write_slurm_files
  start_daemon controller "munged --force --num-threads=2 --key-file=$slurm_state/munge.key \
    --socket=$slurm_state/munge.socket --pid-file=$slurm_state/munged.pid \
    --log-file=$slurm_state/log/munged.log --seed-file=$slurm_state/munge.seed" || slurm_fail munged
  start_daemon controller "slurmctld -i -f $slurm_state/slurm.conf" || slurm_fail slurmctld
  local number
  for ((number = 0; number < hosts; number++)); do
    start_daemon "h$number" "mount -t tmpfs -o mode=1777 tmpfs $slurm_state/tmp &&
      SLURM_CONF=$slurm_state/slurm.conf slurmd -f $slurm_state/slurm.conf" || slurm_fail "slurmd of h$number"
  done
  wait_for_nodes
}

print_slurm_status() {
  slurm_state=$state/slurm
  printf '  Slurm: %s of %s nodes up; to use it: export SLURM_CONF=%s\n' \
    "$(count_slurm_nodes)" "$(setting hosts)" "$slurm_state/slurm.conf"
}
