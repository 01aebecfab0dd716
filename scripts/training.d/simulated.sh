# One step's collectives under SimGrid: each parameter's alone, since a step's calls run one after the other.
# shellcheck shell=bash disable=SC2154

simulate() { # RANKS ARGUMENT OF scripts/simulate...
  scripts/simulate --platform ethernet --ranks "$@"
}

# simulate_uncopied RANKS ARGUMENT...: no message is copied when it is sent, not even a small one, which changes times by some 3 %
# and is quicker to simulate.
simulate_uncopied() {
  scripts/simulate --platform ethernet --selector "smpi/coll-selector:ompi smpi/send-is-detached-thresh:0" --ranks "$@"
}

# dense_algorithms [PREFIX]: for --algorithm
dense_algorithms() {
  local names=(mpi ring rabenseifner minimum-spanning-tree linear-pipeline)
  (IFS=, && echo "${names[*]/#/${1-}}")
}

# simulated_factors RANKS MODEL PARAMETER ROWS COLUMNS PAIRS ALGORITHMS: a rank has so many pairs.
simulated_factors() {
  rows "$(($1 * $4 * $5 / 5000000 + 2))" "simulated/$2/$3/$1-exact" simulate "$1" -- outer-product --rows "$4" --cols "$5" \
    --pairs "$6" --algorithm "$7"
}

# simulated_selection RANKS MODEL PARAMETER ELEMENTS: what travels depends on data, so these have memory of their own.
simulated_selection() {
  local algorithm simulate=simulate
  (($1 <= 128)) || simulate=simulate_uncopied
  for algorithm in topk 'topk(allgather)' 'topk(topk-dsa)' ok-topk gtopk gaussian-k expected-k; do
    rows "$(($1 * $4 / 2500000 + 2))" "simulated/$2/$3/$1-$algorithm" $simulate "$1" --real -- sparse-allreduce --size "$4" \
      --density 0.01 --select exact --communication-alone --algorithm "$algorithm"
  done
}

# simulated_lstm RANKS: 22 symbols in two sentences, as on average; the dense sums of three parameters share a bucket.
simulated_lstm() {
  local symbols=$((637 * 64)) tags=$(((hidden + 1) * 121)) intents=$(((hidden + 1) * 22)) pairs=22
  simulated_factors "$1" lstm lstm1 "$((hidden + 65))" "$((4 * hidden))" "$pairs" "$(dense_algorithms allreduce-),auto"
  rows 5 "simulated/lstm/bucket/$1-exact" simulate "$1" -- allreduce --size "$((symbols + tags + intents))" --algorithm "$(dense_algorithms)"
  simulated_factors "$1" lstm embedding 637 64 "$pairs" auto
  simulated_factors "$1" lstm symbol-classes "$((hidden + 1))" 121 "$pairs" auto
  simulated_factors "$1" lstm sequence-classes "$((hidden + 1))" 22 2 auto
  simulated_selection "$1" lstm lstm1 "$(((hidden + 65) * 4 * hidden))"
  simulated_selection "$1" lstm embedding "$symbols"
  simulated_selection "$1" lstm symbol-classes "$tags"
  simulated_selection "$1" lstm sequence-classes "$intents"
}

simulated_mlp() { # RANKS
  local algorithms pairs=16
  algorithms=$(dense_algorithms allreduce-),auto
  simulated_factors "$1" mlp layer1 785 "$width" "$pairs" "$algorithms"
  simulated_factors "$1" mlp layer2 "$((width + 1))" "$width" "$pairs" "$algorithms"
  simulated_factors "$1" mlp layer3 "$((width + 1))" 10 "$pairs" "$algorithms"
  (($1 <= 32)) || return 0 # 16.8 million weights a rank, and what a sum needs beside them
  simulated_selection "$1" mlp layer1 "$((785 * width))"
  simulated_selection "$1" mlp layer2 "$(((width + 1) * width))"
  simulated_selection "$1" mlp layer3 "$(((width + 1) * 10))"
}

simulated() {
  local ranks
  for ranks in $many_ranks; do
    simulated_lstm "$ranks"
    simulated_mlp "$ranks"
  done
}
