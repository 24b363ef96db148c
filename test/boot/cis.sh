# shellcheck shell=bash disable=SC2154
# Holds machines that have booted to the CIS benchmark. Sourced after begin.sh.

# kms and facts run on the machines, trees reads their documents, booted judges. None of them needs the
# source of Kubernetes.
own_programs() {
  CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./facts ./kms
  CGO_ENABLED=0 go build -C "$here/../.." -o "$tmp/trees" ./test/trees
  CGO_ENABLED=0 go build -C "$here/../judges" -o "$tmp/booted" ./booted
}

# keep_facts MACHINE FOLDER writes what the evaluator reads of a machine into FOLDER. No content of
# a secret file leaves the machine.
keep_facts() {
  mkdir -p "$2"
  # shellcheck disable=SC2016 # the machine's shell expands it
  vm ssh "$1" 'f=$(mktemp /run/facts.XXXXXX) && cat >"$f" && chmod 700 "$f" && "$f"
    status=$?; rm -f "$f"; exit $status' <"$tmp/facts" >"$2/facts" || return
  kubectl get --raw "/api/v1/nodes/$1/proxy/configz" >"$2/kubelet" || return
  [[ " ${control_planes[*]} " != *" $1 "* ]] ||
    kubectl get pods,clusterroles,clusterrolebindings --all-namespaces -o json >"$2/objects"
}

# check_cis fails the case if the CIS evaluator says something else of a machine than of its
# document, or if a check is below PASS that is not listed.
check_cis() {
  local machine folder=$dir/cis
  for machine in "${machines[@]}"; do
    keep_facts "$machine" "$folder/$machine" >"$tmp/attempt" 2>&1 ||
      fail "$machine does not show its facts"
  done
  "$tmp/trees" -documents "$dir/nodes" | "$tmp/booted" "$folder" >"$tmp/attempt" 2>&1 ||
    fail "the CIS benchmark has findings"
  record "CIS as the documents say: $(paste -sd ';' "$tmp/attempt" | sed 's/;/; /g')"
}
