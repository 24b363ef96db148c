# shellcheck shell=bash disable=SC2034,SC2154
# The soak of the proof: three control planes and three workers, a machine replaced at times, and a
# client that writes and reads all the time. Sourced by proof-one.sh.

# Seconds that the client writes, and from one replacement to the next. The client may be without an
# answer for so many seconds; after an unannounced power cut it is for some.
: "${SOAK:=7200}" "${SOAK_EVERY:=600}"
most_silence=30

scenario_soak() {
  local victims=() urls=() round=0 client machine began code=0 what value silence=''
  render_case fast-ha
  operator_files
  shuffle "${machines[@]}"
  start_all "${shuffled[@]}"
  form_limit=$((2 * form_limit)) # six machines on two processors
  reach "$form_limit" formed-ready=nodes_are_ready formed-done=hooks_are_done formed-votes=all_vote
  settle

  shuffle "${machines[@]}"
  victims=("${shuffled[@]}")
  for machine in "${control_planes[@]}"; do urls+=("$(vm api "$machine")"); done
  "$tmp/client" -ca "$dir/ca" -cert "$dir/cert" -key "$dir/key" -for "${SOAK}s" \
    "${urls[@]}" >"$folder/client" 2>"$folder/client.log" &
  client=$!
  began=$SECONDS
  for ((round = 0; ; round++)); do
    sleep_until $(($(now) + 10 * (began + round * SOAK_EVERY + SOAK_EVERY / 4 - SECONDS)))
    ((SECONDS - began + SOAK_EVERY / 2 < SOAK)) || break
    replace "${victims[round % ${#victims[@]}]}" "$((round + 1))"
  done
  wait "$client" || code=$?
  for what in written read failed lost wrong silence; do
    value=$(sed -n "\$s/.*\"$what\":\([0-9.]*\).*/\1/p" "$folder/client")
    [[ -z $value ]] || note client "$what" "$value"
    [[ $what != silence ]] || silence=${value%.*}
  done
  ((code == 0)) || fail "the client: $(tail -n 1 "$folder/client.log")"
  ((${silence:-$most_silence} < most_silence)) || fail "the client had no answer for $silence s"
  reach "$form_limit" end-ready=nodes_are_ready end-done=hooks_are_done end-votes=all_vote
  settle
}

# replace MACHINE ROUND: an empty disk, the same document.
replace() {
  local lost=$1 conditions
  avoid "$lost"
  forget_boots "$lost"
  lost_is_ready() { node_is_ready "$lost"; }
  lost_is_done() { is_done "$lost"; }
  lost_votes() { votes "$lost"; }
  conditions=("$lost.$2.ready=lost_is_ready" "$lost.$2.done=lost_is_done")
  if [[ $lost == cp-* ]]; then
    remember_member "$lost"
    conditions+=("$lost.$2.vote=lost_votes")
  fi
  vm wipe "$lost"
  start_clock
  reach "$form_limit" "${conditions[@]}"
  check_net "$lost"
}

node_is_ready() { # node_is_ready MACHINE
  local machines=("$1")
  nodes_are_ready
}
