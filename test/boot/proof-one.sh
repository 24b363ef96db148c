#!/usr/bin/env bash
# One repetition of the proof (proof.sh): boots machines, harms them as its seed says, and writes
# what it measured.
#
#   proof-one.sh SCENARIO SEED FOLDER
#
# FOLDER gets result, lines of three fields with tabs between them, which the program proof reads
# (parse in proof/results.go knows them). It also gets log, what was said on the way. If the
# repetition fails, evidence holds a folder for each machine.
#
# $PROGRAMS is a folder with the programs kiln, net, overlay, plant and client. Runs inside
# alone.sh.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$here/cluster.sh"
source "$here/etcd.sh"
source "$here/proof-bad.sh"
source "$here/proof-soak.sh"

scenario=$1 seed=$2 folder=$3
: "${PROGRAMS:?}" "${KILN_BOOT_TMP:?}"
tmp=$KILN_BOOT_TMP case=$scenario-$seed
dir=$tmp/$case machines=() power_on=$SECONDS
ln -s "$PROGRAMS"/* "$tmp/"
: >"$tmp/summary"
: >"$tmp/attempt"
pause=1 asks=5

# A kill happens within this many seconds from power-on. A boot beside another takes that long.
: "${KILL_WITHIN:=25}"
form_limit=600 step_limit=200 # what else the computer does may take most of its time

note() { # note KIND NAME VALUE
  printf '%s\t%s\t%s\n' "$1" "$2" "${3//[$'\t\n']/ }" >>"$folder/result"
}

# draw COUNT sets $drawn to a number from 0 to COUNT-1, which seed, scenario and the number of
# earlier draws determine.
draws=0
draw() {
  draws=$((draws + 1))
  drawn=$((0x$(sha256sum <<<"$scenario $seed $draws" | cut -c 1-8) % $1))
}

# shuffle WORD... sets $shuffled to the words in a random order.
shuffle() {
  shuffled=()
  while (($#)); do
    draw $#
    set -- "${@:drawn+1:1}" "${@:1:drawn}" "${@:drawn+2}"
    shuffled+=("$1")
    shift
  done
}

# tenths COUNT prints tenths of a second as seconds.
tenths() { printf '%d.%d' $(($1 / 10)) $(($1 % 10)); }

# now prints tenths of a second. start_clock is the zero of all seconds that are noted.
now() {
  local time=$EPOCHREALTIME
  echo "${time:0:-5}" | tr -d .,
}
start_clock() { begun=$(now) power_on=$SECONDS; }

since() { tenths $(($(now) - begun)); }

# reach LIMIT NAME=COMMAND... tries the commands until each has succeeded once, and notes for each
# the seconds since start_clock under its name. It fails the case after LIMIT seconds, and if a hook
# has given up.
reach() {
  local limit=$1 end missing condition asked=$SECONDS machine
  shift
  end=$((SECONDS + limit))
  while (($#)); do
    missing=()
    for condition in "$@"; do
      if "${condition#*=}" >"$tmp/attempt" 2>&1; then
        note seconds "${condition%%=*}" "$(since)"
        record "${condition%%=*}"
      else
        missing+=("$condition")
      fi
    done
    ((${#missing[@]})) || return 0
    set -- "${missing[@]}"
    ((SECONDS < end)) || fail "not reached in $limit seconds: ${*%%=*}"
    if ((SECONDS - asked >= asks)); then
      asked=$SECONDS
      for machine in "${machines[@]}"; do
        ! gave_up "$machine" 2>/dev/null ||
          fail "the hook on $machine has stopped: $(faults "$machine")"
      done
    fi
    sleep "$pause"
  done
}

# status_of reads the disk from outside, which costs nothing; has_phase replaces the function of
# cluster.sh with it.
status_of() { cat "$vms/$1/var/lib/kiln/status.json"; }
has_phase() { status_of "$2" | grep -F "\"phase\":\"$1\""; } # has_phase PHASE MACHINE
gave_up() { status_of "$1" | grep -F '"phase":"stopped"' | grep -F '"faults":[{'; }
faults() { status_of "$1" | sed -n 's/.*"faults":\[{"code":"\([^"]*\)".*/\1/p'; }

# start_all MACHINE... powers machines on; with $most_delay up to so many tenths of a second apart.
most_delay=0
start_all() {
  local machine order=''
  for machine in "$@"; do
    drawn=0
    if ((most_delay)) && [[ -n $order ]]; then draw $((most_delay + 1)); fi
    sleep "$(tenths "$drawn")"
    power "$machine"
    [[ -n $order ]] || start_clock # the disk was made before
    order+="${order:+, }$machine after $(since) s"
    record "$machine has power"
  done
  note fact order "$order"
}

settle() { # settle: what every machine is held to after it is done
  within "$step_limit" "install credential gone" install_credential_is_gone
  check_net
}

note_steps() {
  local machine role status
  for machine in "${machines[@]}"; do
    role=worker
    [[ $machine != cp-* ]] || role=control-plane
    status=$(status_of "$machine") || continue
    note steps "$role $machine" "$(sed -n 's/.*"steps":{\([^}]*\)}.*/\1/p' <<<"$status")"
  done
}

note_versions() { # of one machine
  local name command value
  while read -r name command; do
    value=$(vm ssh "${machines[0]}" "$command" </dev/null)
    note version "$name" "$(grep -o '[0-9][0-9.]*' <<<"$value" | head -n 1)"
  done <<'END'
Kubernetes kubelet --version
containerd containerd --version | cut -d ' ' -f 3
systemd systemctl --version
cloud-init cloud-init --version
Debian cat /etc/debian_version
END
  note version etcd "$(sed -n 's/.*image: .*etcd://p' "$dir/nodes/cp-1/user-data")"
}

# Three control planes and a worker form a cluster. One control plane loses its disk.
scenario_wiped() {
  local lost
  render_case fast-ha
  machines=("${control_planes[@]}" worker-1)
  shuffle "${machines[@]}"
  start_all "${shuffled[@]}"
  reach "$form_limit" formed-ready=nodes_are_ready formed-done=hooks_are_done formed-votes=all_vote
  settle
  within "$step_limit" "something is written" write before
  draw ${#control_planes[@]}
  lost=${control_planes[drawn]}
  note fact machine "$lost"
  avoid "$lost"
  forget_boots "$lost"
  remember_member "$lost"
  vm wipe "$lost"
  start_clock
  lost_votes() { votes "$lost"; }
  lost_is_done() { is_done "$lost"; }
  reach "$form_limit" ready=nodes_are_ready vote=lost_votes "done"=lost_is_done
  within "$step_limit" "three votes, and no other member" all_vote
  within "$step_limit" "what was written is on each member" are_written before
  settle
}

# A machine loses its power at a random moment of its first boot. Every fifth seed takes a worker,
# which starts together with its control plane.
scenario_kills() {
  local victim=cp-1 moment state
  render_case fast
  if ((seed % 5)); then machines=(cp-1); else victim=worker-1; fi
  draw $((KILL_WITHIN * 10 + 1))
  moment=$drawn
  note fact machine "$victim"
  start_all "${machines[@]}"
  start_clock
  old_boots[$victim]=$(vm ssh "$victim" cat /proc/sys/kernel/random/boot_id)
  sleep_until $((begun + moment))
  vm kill "$victim"
  note seconds cut "$(since)"
  state=$(state_on_disk "$victim")
  note fact state "$state"
  vm again "$victim"
  start_clock
  reach "$form_limit" ready=nodes_are_ready "done"=hooks_are_done
  cat "$here/net/exceptions.txt" "$here/proof/cut.txt" >"$tmp/exceptions"
  exceptions=$tmp/exceptions
  settle
}
sleep_until() { # sleep_until TENTHS
  local left
  left=$(($1 - $(now)))
  ((left <= 0)) || sleep "$(tenths "$left")"
}

# state_on_disk MACHINE prints how far a machine came that is off now.
state_on_disk() {
  local var=$vms/$1/var
  if [[ -s $var/lib/kiln/status.json ]]; then
    sed -n 's/^{"phase":"\([^"]*\)","step":"\([^"]*\)".*/hook \2 (\1)/p' "$var/lib/kiln/status.json"
  elif [[ -s $var/log/cloud-init.log ]]; then
    grep -o 'start: [a-z-]*' "$var/log/cloud-init.log" | tail -n 1 | sed 's/start:/cloud-init/'
  else
    echo "before cloud-init"
  fi
}

# Three control planes in a random order with random delays.
scenario_order() {
  render_case fast-ha
  machines=("${control_planes[@]}") most_delay=200
  shuffle "${machines[@]}"
  avoid "${shuffled[-1]}"
  start_all "${shuffled[@]}"
  note seconds last-power "$(since)"
  reach "$form_limit" ready=nodes_are_ready "done"=hooks_are_done votes=all_vote
  settle
}

# finish writes how the repetition ended, and keeps what shows why. It runs last, however it ended.
finish() {
  local status=$? machine why
  trap - EXIT ERR
  set +e
  note_steps 2>/dev/null
  note_versions 2>/dev/null
  note run ended "$(date -u +'%F %H:%M UTC')"
  if ((status == 0)); then
    note end passed ''
  else
    for machine in "${machines[@]}"; do
      keep_record "$machine" "$folder/evidence/$machine"
      status_of "$machine" >"$folder/evidence/$machine/status.json"
      cp "$vms/$machine/var/log/cloud-init"*.log "$folder/evidence/$machine/"
    done 2>>"$folder/log"
    cp "$tmp/attempt" "$tmp/summary" "$folder/evidence/"
    why=$(sed -n 's/.*FAILED: //p' "$tmp/summary" | tail -n 1)
    [[ $why != *"boot net"* ]] || why+=": $(head -n 1 "$tmp/attempt")"
    note end failed "${why:-ended with status $status}"
  fi
  vm off
  exit "$status"
}

trap finish EXIT
fail_on_errors
"scenario_$scenario"
