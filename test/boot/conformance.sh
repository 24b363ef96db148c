#!/usr/bin/env bash
# Boots three control planes and two workers that are containers of this computer (alone.sh), runs
# the [Conformance] specs of Kubernetes that conformance/specs.txt lists, from its own e2e.test, as
# the operator, and writes conformance/results and docs/conformance.md.
#
#   conformance.sh [--again] [--procs NUMBER] [--minutes NUMBER] [--seed NUMBER]
#                  [--spec TEXT] [--keep]
#
# KILN_BOOT_MINOR (1.36) is the minor of Kubernetes: 1.34, 1.35, 1.36 or 1.37. --again runs what has
# not passed yet, on new machines, and keeps the other results; the page says which runs a spec was
# in. NUMBER processes (2) run specs side by side, and those that are called serial run alone at the
# end. After --minutes (120) what still runs is interrupted; it has not passed. The seed determines
# the order. With --spec, only specs run whose name has TEXT, also such as are not in the list, and
# no result is kept. With --keep, the machines run on after the end.
#
# What Ginkgo and the machines said is in KILN_CONFORMANCE (~/.cache/kiln-conformance). Exits with 0
# if every spec of the list has passed and the boot net has nothing, 1 if not, 77 if this computer
# cannot run the test.
set -euo pipefail
export MACHINES=container KILN_BOOT_TREE=conformance/tree
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/versions.sh"

again='' procs=2 minutes=120 text='' seed=$RANDOM keep=''
words=("$@")
while (($#)); do
  case $1 in
  --again) again=yes ;;
  --procs | --minutes | --seed)
    [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "$1 needs a number"
    declare "${1#--}=$2"
    shift
    ;;
  --spec)
    text=${2:?--spec needs a part of a name}
    shift
    ;;
  --keep) keep=yes ;;
  *) usage "$1" ;;
  esac
  shift
done

if [[ -z ${KILN_BOOT_ALONE:-} ]]; then
  "$here/alone.sh" true # before minutes go into the image
  "$here/conformance-image.sh"
fi
begin "${words[@]}"

commit=$(commit docs/conformance.md test/boot/conformance/results)
CGO_ENABLED=0 go build -C "$here" -o "$tmp/conformance" ./conformance
conformance() { (cd "$here/conformance" && "$tmp/conformance" "$@"); }
source "$here/build.sh"
e2e=$bin/e2e.test-$KUBERNETES/e2e.test
source=$(module_file Dir k8s.io/kubernetes "$KUBERNETES")
official=$source/test/conformance/testdata/conformance.yaml
ginkgo=$(sed -n 's|^\tgithub.com/onsi/ginkgo/v2 v\([0-9.]*\).*|\1|p' "$source/go.mod")

# The name of the endpoint leads to every API server. The folder of mounts is this run's own.
cp /etc/hosts "$tmp/hosts"
printf '10.10.0.%s api.boot-conformance.test\n' 11 12 13 >>"$tmp/hosts"
mount --bind "$tmp/hosts" /etc/hosts

adapt_case() {
  sed -i "s/^  kubernetesVersion: .*/  kubernetesVersion: v$KUBERNETES/" "$dir/cluster.yaml"
}

# run_specs runs the specs whose names stand in $tmp/names. A name that begins with [sig-…] stands
# in no other.
run_specs() {
  local focus
  # shellcheck disable=SC2016 # these are characters
  focus=$(sed 's/[][\\.*^$(){}|+?]/\\&/g' "$tmp/names" | paste -s -d '|')
  "$bin/ginkgo-$ginkgo/ginkgo" run --procs "$procs" --timeout "${minutes}m" --seed "$seed" \
    --no-color --json-report report.json --output-dir "$out" --focus "$focus" "$e2e" -- \
    --kubeconfig "$dir/nodes/admin.conf" --kubectl-path "$cache/kubectl" --provider skeleton \
    --num-nodes 2 --disable-log-dump --report-dir "$out" >"$out/ginkgo.log" 2>&1
}

# facts prints what the page says of this run. $1 is what the boot net said.
facts() {
  local computer
  computer=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  printf '%s\t%s\n' begun "$begun" minutes $(((SECONDS - began) / 60)) commit "$commit" \
    kubernetes "v$KUBERNETES" etcd "$ETCD" CoreDNS "$COREDNS" containerd "$CONTAINERD" \
    Debian "$(vm ssh worker-1 cat /etc/debian_version)" \
    computer "$computer, $(nproc) cores, Linux $(uname -r)" \
    'specs that were asked for' "$(wc -l <"$tmp/names")" 'side by side' "$procs" \
    seed "$seed" 'load average at the beginning' "$load" 'boot net' "$1"
}

conformance check "$minor" "$official"
conformance ${again:+-again} ${text:+-all} names "$minor" "$official" |
  grep -F -- "$text" >"$tmp/names" || {
  [[ $again && -z $text ]] || die "there is no spec to run"
  say "every spec has passed"
  exit 0
}
begun=$(date -u +'%F %H:%M UTC') load=$(cut -d ' ' -f 1 /proc/loadavg)
out=${KILN_CONFORMANCE:-$HOME/.cache/kiln-conformance}/v$minor-$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$out"
say "$(wc -l <"$tmp/names") specs; what they say is in $out"

case=conformance dir=$tmp/cluster power_on=$SECONDS
form_limit=600 step_limit=180
render_case conformance
for machine in "${machines[@]}"; do vm start "$machine" "$dir/nodes/$machine" "$worker_memory"; done
all_up
within "$step_limit" "CoreDNS Available" coredns_is_available

began=$SECONDS status=0 found=nothing
run_specs || status=$?
tail -n 5 "$out/ginkgo.log"
record "the specs have run, with status $status"
(check_net) || found="findings"
cp -r "$dir/net" "$out/"
cp "$tmp/attempt" "$out/net.txt"
[[ -s $out/report.json ]] || die "Ginkgo has left no report: see $out/ginkgo.log"
code=0
if [[ -z $text ]]; then
  facts "$found" >"$out/facts"
  conformance ${again:+-again} add "$minor" "$official" "$out/facts" "$out/report.json" || code=1
  conformance page "$here/../../docs/conformance.md"
else
  code=$status
fi
[[ $found == nothing ]] || code=1
exit "$code"
