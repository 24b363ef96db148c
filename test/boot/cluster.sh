# shellcheck shell=bash disable=SC2034,SC2154
# What every script that boots a cluster does: render a case, wait for its machines, and show their
# state when they fail. Sourced after lib.sh, by a script that sets $tmp (a folder with the programs
# kiln, net, audit and overlay), $case (the name of the case in the records), $dir (the folder in
# which the case is rendered) and $power_on ($SECONDS at the last power-on).

# Seconds that a machine may take. Emulation is about ten times slower than hardware, and CI
# machines differ. PATIENCE (1) multiplies them, on a computer that does much else.
form_limit=900
step_limit=300
pause=3 # between two looks
asks=60 # between two questions whether a hook has given up
case ${MACHINES:-} in
container) pause=1 asks=10 ;;
# Two emulated machines on two processors: the kubelet starts after 318 s, etcd after 480 s, and the
# API server does not answer before 950 s.
qemu) form_limit=1800 ;;
esac
control_plane_memory=3072
worker_memory=1536

vm() { "$here/vm.sh" "$@"; }

# power MACHINE [FOLDER]: the machine starts with an empty disk, the document in FOLDER or its own
# of the case, and the memory of its role.
power() {
  local memory=$worker_memory
  [[ $1 != cp-* ]] || memory=$control_plane_memory
  vm start "$1" "${2:-$dir/nodes/$1}" "$memory"
}

# start_all MACHINE... powers machines on, in this order.
start_all() {
  local machine
  power_on=$SECONDS
  for machine in "$@"; do power "$machine"; done
}

# render_case NAME renders clusters/NAME into $dir, and puts the names of its machines into two
# arrays.
render_case() {
  local machine
  declare -gA old_boots=()
  mkdir "$dir"
  cp -r "$here/clusters/$1/." "$dir/"
  suit_kind "$dir/cluster.yaml"
  adapt_case
  "$tmp/kiln" render --config "$dir/cluster.yaml" --out "$dir/nodes"

  machines=() control_planes=()
  for machine in "$dir"/nodes/*/; do
    machine=$(basename "$machine")
    [[ -f $dir/nodes/$machine/user-data || -f $dir/nodes/$machine/config.ign ]] || continue
    machines+=("$machine")
    [[ $machine != cp-* ]] || control_planes+=("$machine")
  done
}

# suit_kind FILE: the same cluster on the kind of machines that is started, with what this kind
# needs.
suit_kind() {
  local kind=${MACHINES:-qemu}
  [[ ! -f $here/clusters/$kind.sed ]] || sed -E -i -f "$here/clusters/$kind.sed" "$1"
  [[ -f $here/clusters/$kind.yaml ]] || return 0
  lay_over "$1" "$here/clusters/$kind.yaml"
}

# lay_over FILE OVERLAY merges a file of clusters into a cluster.yaml (overlay/main.go).
lay_over() {
  "$tmp/overlay" "$1" "$2" >"$1.part"
  mv "$1.part" "$1"
}

# adapt_case changes $dir/cluster.yaml before it is rendered. A script that wants that replaces it.
adapt_case() { :; }

# record prints and keeps a line of the summary: the seconds since power-on, and what was reached.
record() {
  printf '%-11s %5d s  %s\n' "$case" $((SECONDS - power_on)) "$1" | tee -a "$tmp/summary"
}

# within LIMIT WHAT COMMAND... tries COMMAND every few seconds until it succeeds, and fails the case
# after LIMIT seconds. Every $asks seconds it asks the machines whether their hook has given up, so
# that nobody waits in vain.
within() {
  local limit=$(($1 * ${PATIENCE:-1})) what=$2 begun=$SECONDS asked=$SECONDS machine
  shift 2
  until "$@" >"$tmp/attempt" 2>&1; do
    ((SECONDS - begun < limit)) || fail "$what: not reached in $limit seconds"
    if ((SECONDS - asked >= asks)); then
      asked=$SECONDS
      for machine in "${machines[@]}"; do
        ! has_fault "$machine" 2>/dev/null || fail "$what: the hook on $machine has a fault"
      done
    fi
    sleep "$pause"
  done
  record "$what"
}

# fail ends the case, after showing what somebody needs who was not there.
fail() {
  local machine
  say "FAILED: $case: $1"
  [[ ! -e $tmp/attempt ]] || show "the last attempt" cat "$tmp/attempt"
  for machine in "${machines[@]}"; do
    show "$machine: console" tail -n 30 "$vms/$machine/console.log"
    show "$machine" vm ssh "$machine" '
      cat /var/lib/kiln/status.json; echo
      systemctl --failed --no-legend
      journalctl --no-pager -o short-monotonic -u kiln | tail -n 40
      journalctl --no-pager -o short-monotonic -u kubelet | tail -n 30
      ctr -n k8s.io tasks list
      ctr -n k8s.io containers list'
  done
  record "FAILED: $1"
  exit 1
}
# fail_on_errors: from here on a command that fails outside of a check fails the case as well.
fail_on_errors() {
  set -E
  shell_level=$BASH_SUBSHELL
  trap 'explain "$?" "$BASH_COMMAND" "$LINENO"' ERR
}
explain() { # explain STATUS COMMAND LINE
  # If this is not the shell that began, that one will say it.
  ((BASH_SUBSHELL == shell_level)) || return 0
  trap - ERR
  fail "${BASH_SOURCE[1]##*/} line $3: status $1 of: $2"
}
show() { # show TITLE COMMAND...
  printf '\n--- %s\n' "$1"
  "${@:2}" || true
} >&2

# kubectl talks to the first control plane as the operator, through the port that QEMU forwards. It
# verifies the server by a name that every API server's certificate has.
kubectl() {
  "$cache/kubectl" --kubeconfig "$dir/nodes/admin.conf" --cache-dir "$tmp/kube" --request-timeout 30s \
    --server "$(vm api "${control_planes[0]}")" --tls-server-name kubernetes "$@"
}

# avoid MACHINE: kubectl speaks to another control plane than MACHINE, if there is one. prefer
# MACHINE: it speaks to this one.
avoid() {
  local machine rest=()
  for machine in "${control_planes[@]}"; do [[ $machine == "$1" ]] || rest+=("$machine"); done
  [[ " ${control_planes[*]} " != *" $1 "* ]] || rest+=("$1")
  control_planes=("${rest[@]}")
}
prefer() {
  avoid "$1"
  control_planes=("$1" "${control_planes[@]:0:${#control_planes[@]}-1}")
}

# operator_files takes the operator's credential out of admin.conf, for a client that is not
# kubectl. The CA comes last and at once: a client that runs looks at it for a new credential.
operator_files() {
  local field file
  while read -r field file; do
    sed -n "s/^ *$field: *//p" "$dir/nodes/admin.conf" | base64 -d >"$dir/$file"
  done <<'END'
client-certificate-data cert
client-key-data key
certificate-authority-data ca.part
END
  mv "$dir/ca.part" "$dir/ca"
}

# Succeeds if every machine's node is Ready, with a boot id other than the one that forget_boots
# noted: the node of a kubelet that is gone stays Ready for a while.
nodes_are_ready() {
  local nodes machine boot ready
  nodes=$(kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.nodeInfo.bootID} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}') || return
  echo "$nodes"
  for machine in "${machines[@]}"; do
    read -r boot ready < <(sed -n "s/^$machine //p" <<<"$nodes") || return
    [[ $ready == True && $boot != "${old_boots[$machine]:-}" ]] || return
  done
}
forget_boots() { # forget_boots MACHINE...
  local machine
  for machine in "$@"; do
    old_boots[$machine]=$(kubectl get node "$machine" -o jsonpath='{.status.nodeInfo.bootID}')
  done
}

has_phase() { # has_phase PHASE MACHINE
  vm ssh "$2" cat /var/lib/kiln/status.json | grep -E "\"phase\": *\"$1\""
}
has_fault() { # has_fault MACHINE
  vm ssh "$1" cat /var/lib/kiln/status.json | grep -F '"faults":[{'
}
# is_done MACHINE: the hook of this boot has ended well. What it wrote is not enough: a status of
# the boot before says done as well, and a hook that was done writes no new one.
is_done() {
  has_phase "done" "$1" && hook_has_exited "$1"
}
hook_has_exited() { # hook_has_exited MACHINE
  vm ssh "$1" systemctl show kiln -p SubState --value | grep -x exited
}
# waits_for MACHINE WHAT: its hook waits for this and has not stopped.
waits_for() {
  vm ssh "$1" cat /var/lib/kiln/status.json |
    grep -E "\"phase\":\"waiting\".*\"waiting\":\"[^\"]*$2"
}
hooks_are_done() {
  local machine
  for machine in "${machines[@]}"; do is_done "$machine" || return; done
}

# all_up waits until all machines are Ready and their hooks done.
all_up() {
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$form_limit" "hook done on every machine" hooks_are_done
}

coredns_is_available() {
  [[ $(kubectl -n kube-system get deployment coredns -o jsonpath='{.status.conditions[?(@.type=="Available")].status}') == True ]]
}

# admin.conf stays, without a credential.
install_credential_is_gone() {
  local machine
  for machine in "${control_planes[@]}"; do
    vm ssh "$machine" test -e /etc/kubernetes/admin.conf -a ! -e /etc/kubernetes/pki/install.key || return
  done
}

secret_says() { # secret_says NAME WORD
  [[ $(kubectl get secret "$1" -o jsonpath='{.data.word}' | base64 -d) == "$2" ]]
}

# worker_is_served: the worker reaches an API server where its kubelet looks for it.
worker_is_served() {
  # shellcheck disable=SC2016 # the variables are the machine's
  vm ssh worker-1 '. /etc/kiln/machine
    curl -sSf -m 5 --cacert /etc/kubernetes/pki/ca.crt "$api/readyz"'
}

# heartbeat_after MACHINE TIME: the machine's kubelet has sent a heartbeat to an API server since
# TIME (in the cluster's own clock).
heartbeat_after() {
  local last
  last=$(kubectl -n kube-node-lease get lease "$1" -o jsonpath='{.spec.renewTime}') || return
  echo "$last"
  [[ $last > $2 ]]
}

# kubelet_ends MACHINE [WORD] prints when the kubelet's client certificate ends, in seconds since
# 1970. WORD is current, or kiln for the one of the document.
kubelet_ends() {
  local end
  end=$(vm ssh "$1" openssl x509 -noout -enddate \
    -in "/var/lib/kubelet/pki/kubelet-client-${2:-current}.pem") || return
  date -d "${end#*=}" +%s
}

# member_folder MACHINE DOCUMENT [PARENT] makes the folder of a machine of a pool, with the pool's
# document and the machine's name. The script adds the network.
member_folder() {
  local folder=${3:-$dir/nodes}/$1
  mkdir "$folder"
  cp "$2" "$folder/user-data"
  printf 'instance-id: %s\nlocal-hostname: %s\n' "$1" "$1" >"$folder/meta-data"
}
# member_network ADDRESS prints the network of such a machine where all have one segment.
member_network() {
  cat <<END
version: 2
ethernets:
  eth0:
    addresses: [$1/24]
    accept-ra: false
    nameservers: {addresses: [10.10.0.1]}
    routes: [{to: 0.0.0.0/0, via: 10.10.0.1}]
END
}

# bring FILE MACHINE PATH copies a file to a machine. It is there whole, or not at all.
bring() {
  vm ssh "$2" "mkdir -p ${3%/*} && cat >$3.new && mv $3.new $3" <"$1"
}

# flip_byte DOCUMENT changes the last byte of a line within the first certificate.
flip_byte() {
  local line
  line=$(($(grep -n -m 1 'BEGIN CERTIFICATE' "$1" | cut -d : -f 1) + 2))
  sed -i "${line}{s/x\$/y/;t;s/.\$/x/}" "$1"
}

# keep_record MACHINE FOLDER writes what the machine has said into FOLDER, for net.
keep_record() {
  mkdir -p "$2"
  cp "$vms/$1/console.log" "$2/console"
  vm ssh "$1" journalctl --no-pager -o short-monotonic >"$2/journal" || return
  # A cycle may wait for the next boot, which starts all units at once.
  vm ssh "$1" 'systemd-analyze verify --man=no default.target 2>&1 | grep -F cycle || :' \
    >>"$2/journal" || return
  vm ssh "$1" systemctl list-units --failed --plain --no-legend >"$2/failed" || return
  # cloud-init exits with 1 after errors and with 2 after recoverable ones, and says them.
  vm ssh "$1" '[ -e /etc/cloud/cloud-init.disabled ] || ! systemctl -q is-enabled cloud-init-main ||
    grep -qw cloud-init=disabled /proc/cmdline ||
    cloud-init status --format json || [ $? -le 2 ]' >"$2/cloud-init.json" || return
  [[ -s $2/cloud-init.json ]] || rm "$2/cloud-init.json"
}

# keep_logs MACHINE FOLDER adds the logs of all components to a record.
keep_logs() {
  vm ssh "$1" tar -C /var/log -cf - pods | tar -C "$2" -xf - || return
  vm ssh "$1" journalctl --no-pager -o short-monotonic -p warning -q >"$2/warnings" || return
  vm ssh "$1" '! [ -e /var/log/cloud-init.log ] || cat /var/log/cloud-init.log' \
    >"$2/cloud-init.log"
}

# check_audit MACHINE fails the case if the audit log of this control plane does not have the
# objects that its hook applied.
check_audit() {
  local folder=$dir/audit
  rm -rf "$folder"
  mkdir "$folder"
  vm ssh "$1" 'tar -C /etc/kiln -cf - objects' | tar -C "$folder" -xf -
  vm ssh "$1" cat /var/log/kubernetes/audit.log >"$folder/audit.log"
  "$tmp/audit" "$folder/objects" "$folder/audit.log" >"$tmp/attempt" 2>&1 ||
    fail "the audit log is not complete"
  record "the audit log has what $1 applied"
}

# check_verify [MACHINE...]: nothing differs from the documents of these machines, or of all. The
# ssh of kiln verify is vm.sh.
check_verify() {
  local machine
  (($#)) || set -- "${machines[@]}"
  for machine in "$@"; do
    verify_from_here "$machine" >"$tmp/attempt" 2>&1 ||
      fail "$machine differs from its document"
  done
  record "nothing differs from the documents of $*"
}
verify_from_here() {
  ssh_by_vm
  PATH=$tmp/bin:$PATH "$tmp/kiln" verify "$dir/nodes/$1" --ssh "$1"
}

# ssh_by_vm puts a program ssh into $tmp/bin, which is vm.sh.
ssh_by_vm() {
  mkdir -p "$tmp/bin"
  # shellcheck disable=SC2016 # these are the variables of that program
  printf '#!/bin/sh\nPATH=${PATH#*:} exec "%s" ssh "$3" "$4"\n' "$here/vm.sh" >"$tmp/bin/ssh"
  chmod 755 "$tmp/bin/ssh"
}

# check_tampered MACHINE tampers with a machine in ways that need real systemd and real users, and
# requires kiln verify to name each of them. It must be the last thing that happens to the machine.
check_tampered() {
  local object
  vm ssh "$1" 'set -e
    cd /etc/systemd/system
    systemctl disable kubelet.service
    mkdir -p kiln.service.d /run/systemd/system/kubelet.service.d
    printf "[Service]\nNice=5\n" >kiln.service.d/nice.conf
    printf "[Service]\nNice=5\n" >/run/systemd/system/kubelet.service.d/nice.conf
    systemctl daemon-reload
    printf "[Service]\nNice=5\n" >kubelet.service.d/nice.conf
    mkdir -p /etc/kubernetes/manifests
    echo "{}" >/etc/kubernetes/manifests/other.yaml
    chown nobody /var/lib/kubelet/config.yaml
    chmod 644 /etc/kiln/machine
    echo "#" >>/etc/kiln/steps
    rm /etc/sysctl.d/90-kiln.conf'
  verify_from_here "$1" >"$dir/here" && fail "kiln verify does not see that $1 was changed"
  for object in /etc/systemd/system/multi-user.target.wants/kubelet.service \
    /etc/systemd/system/kiln.service.d/nice.conf /etc/systemd/system/kubelet.service.d/nice.conf \
    /run/systemd/system/kubelet.service.d/nice.conf /etc/kubernetes/manifests/other.yaml \
    /var/lib/kubelet/config.yaml /etc/kiln/machine /etc/kiln/steps /etc/sysctl.d/90-kiln.conf; do
    cp "$dir/here" "$tmp/attempt"
    grep -q "^$object: " "$dir/here" || fail "kiln verify does not name $object on $1"
  done
  record "what was done to $1 is named: $(tail -n 1 "$dir/here")"
}

# check_net [MACHINE...] fails the case if these machines, or all, have said something in console or
# journal that a good boot does not say. $exceptions is the list of what is harmless. With logs=yes
# it reads the logs of all components too.
exceptions=$here/net/exceptions.txt
check_net() {
  local machine folder=$dir/net
  (($#)) || set -- "${machines[@]}"
  rm -rf "$folder"
  for machine in "$@"; do
    # A busy machine may not answer ssh in time.
    keep_record "$machine" "$folder/$machine" || keep_record "$machine" "$folder/$machine" ||
      fail "$machine does not show what it said"
    [[ -z ${logs:-} ]] || keep_logs "$machine" "$folder/$machine" ||
      fail "$machine does not show its logs"
  done
  "$tmp/net" "$exceptions" "$folder"/* >"$tmp/attempt" 2>&1 ||
    fail "the boot net has findings"
  record "nothing in the boot net of $*"
}

# count_strays counts the packets to addresses that are not the cluster's own, and drops them. They
# come to this computer, which is the machines' way to everything else.
count_strays() {
  nft_here -f - <<'END'
table inet gap {
  set strays { type ipv4_addr; flags dynamic; counter; }
  chain seen {
    type filter hook prerouting priority raw
    iif lo accept
    ip daddr { 10.10.0.0/24, 10.244.0.0/16, 10.96.0.0/12, 224.0.0.0/4, 255.255.255.255 } accept
    meta nfproto ipv4 add @strays { ip daddr } drop
  }
}
END
}
# The computer may have no nft; the machines have.
nft_here() { chroot "$cache/fast/tree" nft "$@"; }
strays() { nft_here list set inet gap strays | sed -n 's/.*elements = //p'; }
# check_strays: there was none; and one that worker-1 sends now is counted.
check_strays() {
  strays >"$tmp/attempt"
  [[ ! -s $tmp/attempt ]] || fail "packets went to other addresses"
  vm ssh worker-1 'curl -s -m 1 http://192.0.2.1 || :'
  [[ $(strays) == *192.0.2.1* ]] || fail "a packet to 192.0.2.1 is not counted"
  record "no packet to another address"
}

# harmless REASON WHERE LINE adds an exception to those of the boot net, for this scenario.
harmless() {
  exceptions=$dir/exceptions
  [[ -f $exceptions ]] || cp "$here/net/exceptions.txt" "$exceptions"
  printf '\ndate: %s\nwhere: %s\nline: %s\nreason: %s\n' "$(date +%F)" "$2" "$3" "$1" \
    >>"$exceptions"
}
# stops_with CODE tells the boot net that the hook stops with this fault.
stops_with() {
  local where
  for where in console journal; do
    harmless "the scenario makes this fault" "$where" "FAULT $1 "
    harmless "the hook stops with it" "$where" "kiln.service: Failed with|Failed to start kiln.serv"
  done
}
