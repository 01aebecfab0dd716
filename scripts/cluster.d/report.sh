# What went over the links, and what is up.
# shellcheck shell=bash disable=SC2154

# A line "NAME SENT RECEIVED", in bytes, for each host and each rack's uplink. What a switch's port received is what
# the host or rack behind it sent.
read_counters() {
  ip netns exec "$(netns_of switches)" cat /proc/net/dev |
    awk -F: '{ sub(/^ */, "", $1); split($2, count, " ") }
             $1 ~ /^(h|rack)[0-9]+$/ { print $1, count[1], count[9] }' | sort
}

# count_since FILE_OF_COUNTERS: the same lines, with the bytes since FILE was written, which then holds the new counters.
count_since() {
  read_counters >"$1.new"
  join "$1" "$1.new" | awk '{ print $1, $4 - $2, $5 - $3 }' | sort -V
  mv "$1.new" "$1"
}

cluster_traffic() {
  [[ -z ${1-} || $1 == --json ]] || fail "unknown argument '$1' of traffic, expected --json or none"
  require_up
  count_since "$state/traffic" | awk -v json="${1-}" '
    BEGIN { if (!json) printf "%-7s %14s %14s\n", "link", "sent_bytes", "received_bytes" }
    json  { printf "{\"%s\": \"%s\", \"sent_bytes\": %d, \"received_bytes\": %d}\n", /^h/ ? "host" : "rack", $1, $2, $3 }
    !json { printf "%-7s %14d %14d\n", $1, $2, $3 }'
}

# Ranks that wait for a message keep asking for it, so busy cores alone prove nothing: a link that was in use most of the
# time speaks against them.
print_last_run() {
  local seconds busy link
  read -r seconds busy link <"$state/last_run"
  printf '  last run: %s s, cores %s %% busy, busiest link at %s %% of its rate' "$seconds" "$busy" "$link"
  if ((busy > 85 && link < 50)); then printf ': the cores, not the links, may be what was measured'; fi
  printf '\n'
}

print_cluster() {
  if ! is_up; then
    printf '%s: not complete (its up is at work or was killed; down removes it)\n' "$name"
    return
  fi
  printf '%s: %s hosts h0..h%s at %s, burst %s bytes, subnet %s.0/24\n' "$name" "$(setting hosts)" \
    $(($(setting hosts) - 1)) "$(setting rate)" "$(setting burst_bytes)" "$(setting subnet)"
  if [[ -n $(setting rack) ]]; then
    printf '  racks of %s hosts, uplinks of %s\n' "$(setting rack)" "$(setting uplink)"
  fi
  if [[ -n $(setting slurm) ]]; then print_slurm_status; fi
  if [[ -e $state/last_run ]]; then print_last_run; fi
}

cluster_status() {
  local only=$1
  shift
  [[ $# == 0 ]] || fail "unknown argument '$1' of status, expected none"
  if [[ -n $only ]]; then
    require_up
    print_cluster
    return
  fi
  [[ -e $state_root ]] || echo "no cluster is up"
  for state in "$state_root"/*/; do
    state=${state%/}
    name=${state##*/}
    if [[ -e $state/made ]]; then print_cluster; fi
  done
}
