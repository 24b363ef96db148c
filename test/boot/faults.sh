#!/usr/bin/env bash
# Harms machines during their first boot, and checks that they come up all the same or say why not.
#
#   faults.sh [--cuts COUNT] [SCENARIO...]
#
# SCENARIO is one of the functions scenario_... below. Without one, all run that the kind of machine
# can show, in this order:
#
#   cuts           COUNT (10) first boots, each with a power cut at a random moment: every one ends
#                  done and Ready
#   again          reboot after success: a no-op of less than a second of a processor, or ten by
#                  the clock in a container, which does not count the former; nothing secret in
#                  journal, report, argv, environment
#   byte           one byte of one file flipped: stops with file-damaged, and goes on when it is
#                  flipped back
#   disk           little room in /var/lib: stops with disk; goes on with room
#   no-room        not a byte left: stops, and the console says why
#   image          an image is absent and no registry answers: waits, naming it; goes on when it
#                  is there
#   port           port 6443 is taken: stops with port; goes on when it is free
#   script         a preBoot script fails: stops with pre-boot, its output in the report
#   late-endpoint  a worker, and its control plane two minutes later: both done and Ready
#
# and, with MACHINES=qemu alone, since a container has this computer's clock and no firmware:
#
#   clock-behind   a clock one year behind: waits, and goes on when it is set
#   clock-ahead    a clock one year ahead: stops with cert-expired
#   cloned         a finished disk in another machine: cloned, and no kubelet
#
# The machines are containers of this computer. With MACHINES=qemu they are emulated, and a power
# cut harms a disk. A machine that is mended ends done and Ready; each boot ends with the boot net,
# which then excepts the scenario's own fault.
#
# Machines announce their states to kiln serve --wait (announced.sh): each fault, each wait that a
# scenario makes and each done arrives within five seconds, or fifteen on an emulated machine, and
# the server ends with 3 or 0. One verdict cannot arrive: that of no-room, because no status.json
# fits on the disk.
# shellcheck disable=SC2016 # commands in single quotes expand on a machine
set -euo pipefail
export MACHINES=${MACHINES:-container}
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/announced.sh"

every=(cuts again byte disk no-room image port script late-endpoint)
emulated=(clock-behind clock-ahead cloned)
[[ $MACHINES != qemu ]] || every+=("${emulated[@]}")
cuts=10 numbers=(cuts)
words "$@"
begin "${arguments[@]}"
[[ $MACHINES == qemu ]] || say "left to MACHINES=qemu: ${emulated[*]}"
adapt_case() { reporting; }

# first_boot [HARM]: powers cp-1 on with an empty disk. HARM is a line of sh that runs on the
# machine before the hook, at its first start only.
first_boot() {
  local seed=$dir/harmed
  rm -rf "$seed"
  cp -r "$dir/nodes/cp-1" "$seed"
  if [[ -n ${1:-} ]]; then
    # The harm runs outside the hook's sandbox (+). cloud-init begins with the document's first
    # entry, its bootcmd. An item that is not indented as its neighbours are makes no list.
    cat >"$dir/harm" <<END_OF_HARM
mkdir -p /etc/systemd/system/kiln.service.d
cat >/root/harm <<'END'
[ -e /run/harmed ] && exit
: >/run/harmed
$1
END
printf '[Service]\nExecStartPre=+/bin/sh /root/harm\n' >/etc/systemd/system/kiln.service.d/harm.conf
END_OF_HARM
    sed -i "s|^bootcmd:\$|&\n- [sh, -c, \"echo $(base64 -w 0 "$dir/harm") \| base64 -d \| sh\"]|" "$seed/user-data"
    ! cmp -s "$dir/nodes/cp-1/user-data" "$seed/user-data" ||
      fail "the harm is not in the document: it has no line bootcmd:"
  fi
  vm off
  serve_anew
  power_on=$SECONDS
  power cp-1 "$seed"
}

# seen CODE: the hook has this fault, and says so in all four places.
seen() {
  local line
  has_fault cp-1 && line=$(vm ssh cp-1 cat /etc/issue.d/kiln.issue) || return
  echo "$line"
  [[ $line == "FAULT $1 "* ]] &&
    vm ssh cp-1 cat /var/lib/kiln/status.json | grep -F "\"code\":\"$1\"" &&
    vm ssh cp-1 journalctl -u kiln -o cat | grep -F "FAULT $1 " &&
    on_console "FAULT $1 "
}
on_console() { grep -aF "$1" "$vms/cp-1/console.log"; }

# faulted CODE waits until the hook has stopped with this fault, and shows the line. The wait is not
# within's, which ends with a fault.
faulted() {
  local begun=$SECONDS
  until seen "$1" >"$tmp/attempt" 2>&1; do
    ((SECONDS - begun < step_limit * ${PATIENCE:-1})) || fail "fault $1: not seen in time"
    sleep 3
  done
  record "$(grep -m 1 "^FAULT" "$tmp/attempt")"
  arrived cp-1
  ends_with 3 "as a machine has stopped"
}

# awaited TEXT: the hook waits, and names this.
awaited() {
  within "$form_limit" "waits: $1" waits "$1"
  arrived cp-1
}
waits() { vm ssh cp-1 cat /var/lib/kiln/status.json | grep -F '"phase":"waiting"' | grep -F "$1"; }

# mended CODE COMMAND: repairs the machine, as a person does after reading the fault. The hook goes
# on after that, past the step where it stopped, to its end.
mended() {
  serve_again cp-1
  vm ssh cp-1 "$2; systemctl restart kiln"
  stops_with "$1"
  goes_on "once mended"
}
goes_on() { # goes_on WHEN
  within "$step_limit" "goes on, $1" past_preflight
  ends_well
}
ends_well() {
  within "$form_limit" "done and Ready" node_is_ready_and_hook_done
  all_arrived
  check_net
}
# all_arrived: each machine is done, and the server knows it.
all_arrived() {
  local machine
  for machine in "${machines[@]}"; do arrived "$machine"; done
  ends_with 0 "as all are done"
}
past_preflight() { vm ssh cp-1 cat /var/lib/kiln/status.json | grep -F '"preflight":'; }

node_is_ready_and_hook_done() { hooks_are_done && nodes_are_ready && install_credential_is_gone; }

# The scenarios.

scenario_cuts() {
  local i moment
  for ((i = 1; i <= cuts; i++)); do
    moment=$((15 + RANDOM % 110))
    [[ $MACHINES == qemu ]] || moment=$((1 + RANDOM % 40))
    first_boot
    sleep "$moment"
    # A machine that does not answer yet has no kubelet that could have made a Node.
    old_boots["cp-1"]=$(vm ssh cp-1 cat /proc/sys/kernel/random/boot_id) || old_boots["cp-1"]=''
    vm kill cp-1
    record "power cut; the state was: $(state_before_cut)"
    kill -0 "$server" 2>/dev/null || serve_again cp-1 # it had heard that the machine is done
    power_on=$SECONDS
    vm again cp-1
    within "$form_limit" "power cut $i of $cuts, after $moment s: done and Ready" node_is_ready_and_hook_done
    all_arrived
    within "$step_limit" "CoreDNS Available" coredns_is_available
    vm ssh cp-1 'journalctl --no-pager -u kiln -o cat' >"$tmp/attempt" || fail "no journal"
    ! grep FAULT "$tmp/attempt" || fail "a fault was said on the way"
    check_net
  done
}
# What the console last said; the disk is not looked into.
state_before_cut() { tail -n 1 "$vms/cp-1/console.log" | tr -cd ' -~' | cut -c 1-60; }

scenario_again() {
  local took passed
  first_boot
  ends_well
  within "$step_limit" "hook ended" hook_ended
  read -r took passed < <(sed -n 's/^took //p' "$tmp/attempt")
  record "the hook of the first boot: $took ms of a processor, $passed ms of the clock: $(vm ssh cp-1 cat /var/lib/kiln/status.json | grep -o '"steps":{[^}]*}')"
  record "from the hook's start to a Ready node: $(hook_to_ready) s"
  scripts_ran_once
  forget_boots cp-1
  vm stop cp-1
  serve_again cp-1
  power_on=$SECONDS
  vm again cp-1
  within "$form_limit" "Ready after a reboot" nodes_are_ready
  within "$step_limit" "hook ended" hook_ended
  read -r took passed < <(sed -n 's/^took //p' "$tmp/attempt")
  record "the hook after a reboot: $took ms of a processor, $passed ms of the clock"
  ends_with 0 "as the machine has said again that it is done"
  # The clock also counts how long the API server of this machine takes to start: the hook tells it
  # that the machine is well.
  if [[ $took == unknown ]]; then took=$((passed / 10)); fi
  ((took < 1000)) || fail "the hook did too much"
  scripts_ran_once
  nothing_leaks
  check_net
}

scenario_cloned() {
  first_boot
  ends_well
  vm stop cp-1
  serve_again cp-1
  power_on=$SECONDS
  QEMU_OPTIONS='-uuid 0de0a7d2-1a5e-4c52-9a3e-7f3a2c1b0d99' vm again cp-1
  faulted cloned
  within "$step_limit" "its kubelet does not run" kubelet_cannot_start
  stops_with cloned
  harmless "the hook stops" failed '^kiln\.service'
  harmless "it may not run" journal 'systemd\[1\]: kubelet\.service: Failed with result'
  check_net
}
# hook_ended prints the milliseconds of processor time that the hook and its programs took, and
# those that passed.
hook_ended() {
  local from to took
  vm ssh cp-1 systemctl show kiln -p ExecMainStartTimestampMonotonic \
    -p ExecMainExitTimestampMonotonic -p CPUUsageNSec >"$dir/times" || return
  cat "$dir/times"
  from=$(sed -n 's/^ExecMainStart.*=//p' "$dir/times")
  to=$(sed -n 's/^ExecMainExit.*=//p' "$dir/times")
  took=$(sed -n 's/^CPU.*=//p' "$dir/times")
  # systemd counts no processor time in a container, where cpu and cpuacct are two hierarchies.
  if [[ $took =~ ^[0-9]+$ ]]; then took=$((took / 1000000)); else took=unknown; fi
  ((to > from)) && echo "took $took $(((to - from) / 1000))"
}
# hook_to_ready is what kubeadm.sh's "kubeadm init itself" compares with.
hook_to_ready() {
  local from to
  from=$(vm ssh cp-1 systemctl show kiln -p ExecMainStartTimestamp --value) &&
    to=$(kubectl get node cp-1 -o jsonpath='{.status.conditions[?(@.type=="Ready")].lastTransitionTime}') &&
    echo $(($(date -d "$to" +%s) - $(date -d "$from" +%s)))
}

scripts_ran_once() {
  vm ssh cp-1 'wc -l </var/lib/before; wc -l </var/lib/after' | tr '\n' ' ' | grep -qx '1 1 ' || fail "the scripts did not run once"
  vm ssh cp-1 'cat /var/lib/kiln/pre-boot-before.log /var/lib/kiln/post-boot-after.log' | grep -c . >"$tmp/attempt" || fail "the scripts' output is gone"
  record "the user's scripts ran once"
}

# nothing_leaks: no secret word of bundle and document is in what the machine says. The words are
# the private keys, line by line, the key of the encryption at rest, the seed, tokens, and the key
# of the announcements. grep fails if there is none of a kind.
nothing_leaks() {
  local words=$dir/words command word
  local -a both=("$dir"/*.secrets.yaml "$dir/nodes/cp-1/user-data")
  {
    sed -n '/PRIVATE KEY/,/PRIVATE KEY/p' "${both[@]}" | grep -oE '[A-Za-z0-9+/=]{22,}'
    for word in encryptionKey leafSeed; do
      sed -nE "s/^ *$word: (.{16,})\$/\\1/p" "${both[@]}" | grep .
    done
    sed -nE 's/^ *secret: (.{16,})$/\1/p' "${both[@]}" # if there are pools
    sed -nE 's/^ *api=.* i=([0-3]{64})$/\1/p' "$dir/nodes/cp-1/user-data" | grep .
  } | sort -u >"$words"
  (($(wc -l <"$words") >= 10)) || fail "only $(wc -l <"$words") secret words found in the bundle"
  : >"$dir/said"
  while read -r command; do
    # A container may not read the kernel's messages, which are the computer's.
    [[ $command != dmesg || $MACHINES != container ]] || continue
    vm ssh cp-1 "$command" </dev/null >"$dir/part" 2>/dev/null || true # a process may have gone
    [[ -s $dir/part ]] || fail "nothing to look through: $command"
    cat "$dir/part" >>"$dir/said"
  done <<'END'
journalctl --no-pager -o verbose
sh /etc/kiln/boot report
cat /proc/*/cmdline | tr "\0" "\n"
cat /proc/*/environ | tr "\0" "\n"
cat /var/log/cloud-init*.log /var/lib/kiln/* /etc/issue.d/*
dmesg
END
  if grep -aFo -f "$words" "$dir/said" >"$tmp/attempt"; then fail "$(wc -l <"$tmp/attempt") secret words in what the machine says"; fi
  record "none of $(wc -l <"$words") secret words in $(wc -c <"$dir/said") bytes of journal, report, argv, environment, logs"
}

kubelet_cannot_start() {
  vm ssh cp-1 'systemctl start kubelet; ! systemctl is-active kubelet && ! pgrep -x kubelet && ! pgrep -x etcd'
}

scenario_clock-behind() {
  QEMU_OPTIONS="-rtc base=$(date -u -d '1 year ago' +%FT%T)" first_boot
  awaited clock-behind
  vm ssh cp-1 "date -s @$(date +%s)"
  goes_on "once the clock is set"
}

scenario_clock-ahead() {
  QEMU_OPTIONS="-rtc base=$(date -u -d '1 year' +%FT%T)" first_boot
  faulted cert-expired
  stops_with cert-expired
  harmless "the hook stops" failed '^kiln\.service'
  check_net
}

flip='printf "\\$(printf %o $(($(od -An -tu1 -j100 -N1 /etc/kubernetes/pki/ca.crt) ^ 1)))" | dd of=/etc/kubernetes/pki/ca.crt bs=1 seek=100 conv=notrunc'
scenario_byte() {
  first_boot "$flip"
  faulted file-damaged
  mended file-damaged "$flip"
}

# A container's /var is a folder of this computer's disk, which must not run full: it gets one of
# its own, in memory.
scenario_disk() {
  VAR_SIZE=2048 first_boot 'avail=$(df --output=avail -B1M /var/lib | tail -n 1); fallocate -l $((avail - 300))M /var/full'
  faulted disk
  mended disk 'rm /var/full'
}

scenario_no-room() {
  VAR_SIZE=2048 first_boot 'dd if=/dev/zero of=/var/full bs=1M; dd if=/dev/zero of=/var/fuller bs=1; sync'
  within "$step_limit" "the console says that there is no room" on_console "FAULT "
  record "$(grep -am 1 -o 'FAULT.*' "$vms/cp-1/console.log" | tr -d '\r')"
  vm ssh cp-1 '! [ -s /var/lib/kiln/status.json ]' || arrived cp-1
  local where reason="cloud-init cannot write its last status to the full disk"
  for where in console journal failed; do
    harmless "$reason" "$where" '(cloud-final|cloud-init-main)\.service'
  done
  harmless "$reason" cloud-init.json 'status is error, not done|Failed due to systemd unit failure'
  mended '(disk|unwritable)' 'rm /var/full /var/fuller'
}

# Without --local, ctr ends when containerd has sent the image, perhaps before it has written all of
# it (containerd 2.4.2, core/transfer/archive/exporter.go): under load 2 of 25 were cut off.
scenario_image() {
  local image
  image=$(sed -n 's/.*\(registry.k8s.io\/etcd:[0-9.-]*\).*/\1/p' "$dir/nodes/cp-1/user-data" | head -n 1)
  first_boot "ctr -n k8s.io images export --local /root/image.tar $image && ctr -n k8s.io images rm --sync $image"
  awaited "images: $image is not here"
  vm ssh cp-1 'ctr -n k8s.io images import /root/image.tar'
  goes_on "once the image is there"
}

scenario_port() {
  first_boot 'set -- systemd-run -q --unit taker -p SuccessExitStatus=143; "$@" socat TCP-LISTEN:6443,fork,reuseaddr PIPE || "$@" python3 -m http.server 6443; sleep 3'
  faulted port
  mended port 'systemctl stop taker'
}

scenario_script() {
  first_boot 'mkdir -p /var/lib/before'
  faulted pre-boot
  vm ssh cp-1 sh /etc/kiln/boot report >"$tmp/attempt"
  grep -q 'irectory' "$tmp/attempt" || fail "the script's output is not in the report"
  vm ssh cp-1 '! systemctl is-active kubelet' >"$tmp/attempt" || fail "the kubelet runs"
  harmless "the script runs in a unit of its own" journal \
    '^\[[ 0-9.]+\] cp-1 systemd\[1\]: run-[a-z0-9-]+\.service: Failed with result'
  mended pre-boot 'rmdir /var/lib/before'
}

scenario_late-endpoint() {
  dir=$dir-late
  render_case cloud-init
  vm off
  serve_anew
  start_all worker-1
  sleep 120
  within "$step_limit" "the worker waits for its node" worker_waits
  arrived worker-1
  vm ssh worker-1 cat /var/lib/kiln/status.json >"$tmp/attempt" || fail "the worker has no status"
  record "the worker: $(grep -oE '"(phase|waiting)":"[^"]*"' "$tmp/attempt" | tr '\n' ' ')"
  power cp-1
  within "$form_limit" "both Ready" nodes_are_ready
  within "$step_limit" "both hooks done" hooks_are_done
  all_arrived
  check_net
}
worker_waits() { has_phase waiting worker-1 | grep -F '"step":"node"'; }

# single SCENARIO: a cluster of one control plane.
single() {
  render_case single
  scenario "$1"
}
each single "${scenarios[@]}"
