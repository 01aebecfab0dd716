# Hosts, switches and shaped links.
#
# A cluster is a namespace for each host and one for the switches: a bridge "core" and, with racks, "switch0", "switch1", ...
# A host's eth0 is one end of a veth pair. The other is a port of a bridge and has the host's name; likewise the core's
# end of a rack's uplink is named "rack0", "rack1", ...
# shellcheck shell=bash disable=SC2154

# bits_per_second OPTION RATE
bits_per_second() {
  local expected="$1 is '$2', expected a rate from 1mbit to 100gbit, as 200mbit or 2.5gbit"
  [[ $2 =~ ^[0-9]+(\.[0-9]+)?[mg]bit$ ]] || fail "$expected"
  awk -v rate="$2" 'BEGIN {
    bits = rate * (rate ~ /gbit$/ ? 1e9 : 1e6)
    if (bits < 1e6 || bits > 1e11) exit 1
    printf "%.0f\n", bits
  }' || fail "$expected"
}

# burst_bytes BITS_PER_SECOND: the bytes that may pass at once after a pause. 4 KiB for each Gbit/s that all hosts send
# together, since each packet takes time of the cores; at least 0.1 ms of the link, since timers are late, and at most
# 0.66 ms, 16 KiB at 200 Mbit/s; at least 4 KiB and at most 48. docs/programs/cluster.md has the measurement.
burst_bytes() {
  local bytes=$((hosts * rate_bits / 1000000 * 4096 / 1000)) least_bytes=$(($1 / 80000)) most_bytes=$(($1 / 12207))
  bytes=$((bytes > most_bytes ? most_bytes : bytes))
  bytes=$((bytes < least_bytes ? least_bytes : bytes))
  bytes=$((bytes < 4096 ? 4096 : bytes))
  echo $((bytes > 49152 ? 49152 : bytes))
}

# shape NAMESPACE INTERFACE BITS_PER_SECOND
shape() {
  tc -n "$1" qdisc add dev "$2" root tbf rate "$3bit" burst "$(burst_bytes "$3")b" limit 4m
}

# limit_packets NAMESPACE: the kernel hands TCP's data down in packets of up to 64 KiB. One that is larger than a bucket it
# cuts in software, which costs more than all the rest, so hosts make none that is larger than the slowest link's.
limit_packets() {
  local slowest=$((uplink_bits && uplink_bits < rate_bits ? uplink_bits : rate_bits)) bytes
  bytes=$(($(burst_bytes "$slowest") * 15 / 16)) # the rest is for the headers of each 1500 bytes
  ip -n "$1" link set eth0 gso_max_size $((bytes < 65536 ? bytes : 65536))
}

# A namespace without IPv6, whose own announcements would be counted as traffic.
make_namespace() {
  make netns "$1"
  # shellcheck disable=SC2016 # the inner shell expands it
  ip netns exec "$1" sh -c 'for file in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 >"$file"; done'
  ip -n "$1" link set lo up
}

make_bridge() {
  ip -n "$switches" link add "$1" type bridge mcast_snooping 0
  ip -n "$switches" link set "$1" up
}

# make_host HOST ADDRESS BRIDGE: a host with an unshaped link.
make_host() {
  local netns
  netns=$(netns_of "$1")
  make_namespace "$netns"
  ip -n "$switches" link add "$1" type veth peer name eth0 netns "$netns"
  ip -n "$switches" link set "$1" master "$3" up
  ip -n "$netns" address add "$2/24" dev eth0
  ip -n "$netns" link set eth0 up
  choose_congestion_control "$netns" "$2"
}

# choose_congestion_control NAMESPACE ADDRESS: TCP as Linux ships it, whatever this machine is set to. What a namespace may not
# set for all it may for a route. Reno is in every kernel.
choose_congestion_control() {
  local algorithm=reno
  if grep -qw cubic /proc/sys/net/ipv4/tcp_available_congestion_control; then algorithm=cubic; fi
  ip -n "$1" route replace "${2%.*}.0/24" dev eth0 proto kernel scope link src "$2" congctl "$algorithm"
}

# make_rack NUMBER: a bridge for its hosts, and the uplink between it and the core.
make_rack() {
  make_bridge "switch$1"
  ip -n "$switches" link add "uplink$1" type veth peer name "rack$1"
  ip -n "$switches" link set "uplink$1" master "switch$1" up
  ip -n "$switches" link set "rack$1" master core up
  shape "$switches" "uplink$1" "$uplink_bits"
  shape "$switches" "rack$1" "$uplink_bits"
}

make_network() {
  local number bridge=core
  switches=$(netns_of switches)
  make_namespace "$switches"
  make_bridge core
  for ((number = 0; number < hosts; number++)); do
    if [[ -n $rack ]]; then
      bridge=switch$((number / rack))
      if ((number % rack == 0)); then make_rack $((number / rack)); fi
    fi
    make_host "h$number" "$subnet.$((number + 1))" "$bridge"
    limit_packets "$(netns_of "h$number")"
    shape "$(netns_of "h$number")" eth0 "$rate_bits"
    shape "$switches" "h$number" "$rate_bits"
  done
}

write_hosts_file() {
  local number
  echo "127.0.0.1 localhost"
  for ((number = 0; number < hosts; number++)); do echo "$subnet.$((number + 1)) h$number"; done
}

# The first number that no cluster has and whose subnet this machine does not use.
choose_subnet() {
  local number
  for ((number = 0; number < 256; number++)); do
    if ! grep -qsx "subnet=10.91.$number" "$state_root"/*/settings &&
      [[ -z $(ip -4 route show root "10.91.$number.0/24") ]]; then
      echo "10.91.$number"
      return
    fi
  done
  fail "all subnets 10.91.0.0/24 to 10.91.255.0/24 are in use"
}

parse_up_options() {
  hosts='' rate='' rack='' uplink='' slurm='' uplink_bits=0
  while (($#)); do
    case $1 in
      --hosts) hosts=${2-} ;;
      --rate) rate=${2-} ;;
      --rack) rack=${2-} ;;
      --uplink) uplink=${2-} ;;
      --slurm) slurm=yes; shift; continue ;;
      *) fail "unknown argument '$1' of up, expected --hosts, --rate, --rack, --uplink or --slurm" ;;
    esac
    [[ -n ${2-} ]] || fail "$1 has no value"
    shift 2
  done
  [[ -n $hosts ]] || fail "up needs --hosts N"
  [[ -n $rate ]] || fail "up needs --rate RATE, as 1gbit"
  check_count --hosts "$hosts" 250
  rate_bits=$(bits_per_second --rate "$rate")
  if [[ -n $rack || -n $uplink ]]; then
    [[ -n $rack && -n $uplink ]] || fail "--rack and --uplink go together: a rack's size and the rate of its link to the core"
    check_count --rack "$rack" "$hosts"
    ((hosts % rack == 0)) || fail "--rack is '$rack', expected a divisor of --hosts $hosts"
    uplink_bits=$(bits_per_second --uplink "$uplink")
  fi
}

write_settings() {
  mkdir -p "$state"
  chmod 755 "$state_root" "$state"
  printf '%s\n' "subnet=$subnet" "hosts=$hosts" "rate=$rate" "burst_bytes=$(burst_bytes "$rate_bits")" \
    "rack=$rack" "uplink=$uplink" "slurm=$slurm" >"$state/settings"
  : >"$state/made"
  write_hosts_file >"$state/hosts"
  ln -s "$parts/remote_shell" "$state/remote_shell"
}

cluster_up() {
  parse_up_options "$@"
  if [[ -n $slurm ]]; then need_slurm_packages; fi
  take_lock
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if [[ -e $state ]]; then
    printf "cluster: '%s' is there already, it is replaced\n" "$name" >&2
    remove_cluster
  fi
  subnet=$(choose_subnet)
  trap remove_cluster EXIT
  write_settings
  make_network
  if [[ -n $slurm ]]; then start_slurm; fi
  read_counters >"$state/traffic"
  echo "ready=yes" >>"$state/settings"
  trap - EXIT HUP INT TERM
}
