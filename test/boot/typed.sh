# shellcheck shell=bash disable=SC2034,SC2154,SC2317
# Types the steps of kiln plan. A line that is a command is run as it stands, with NAME and OTHER
# filled in; what a line says in words is done, if this file knows the words. A line that it does
# not know ends the case. Sourced after cluster.sh, etcd.sh and as-operator.sh, by a script that
# calls follow, and has take_out and take_back, which say that a machine is away. It sets
# $drain_limit, in seconds, and $image_of, the image of each version of the kubelet. The documents
# and the twin of a version are in the folders nodes-VERSION and VERSION, $version is the last one,
# and cluster.yaml is of this one.

states=()    # what kiln plan is asked about
force=()     # more words for it
typed=0      # steps that were typed
done_here=() # steps that stay in the plan after they were done: nothing says that they are

# ask_plan puts the steps that are left into $tmp/plan.json.
ask_plan() {
  (cd "$dir" && "$tmp/kiln" plan "${states[@]}" "${force[@]}" --kubeconfig "$tmp/admin.conf" \
    -o json) >"$tmp/plan.json"
}

# follow asks the plan and types its first step that is not done, of one machine, until no step is
# left. A plan comes to an end: it gives up after forty.
follow() {
  local round
  push "${machines[-1]}"
  for ((round = 0; round < 40; round++)); do
    within "$step_limit" "the plan" ask_plan
    if first_step; then
      type_step
      until_restored
    elif [[ $(jq '.steps | length' "$tmp/plan.json") == 0 ]]; then
      record "the plan of ${states[*]} has nothing left"
      return
    else
      fail "the plan keeps steps that are done: $(jq -c '[.steps[].do]' "$tmp/plan.json")"
    fi
  done
  cp "$tmp/plan.json" "$tmp/attempt"
  fail "the plan does not come to an end"
}

# name_of STEP prints a word for what a step does, and how.
name_of() { jq -c '[.do, .how]' <<<"$1" | sha256sum | cut -c 1-64; }

# first_step puts the first step that is not done into $tmp/step.json.
first_step() {
  local step
  while read -r step; do
    [[ " ${done_here[*]} " != *" $(name_of "$step") "* ]] || continue
    echo "$step" >"$tmp/step.json"
    return
  done < <(jq -c '.steps[]?' "$tmp/plan.json")
  return 1
}

# until_restored types the next steps of the plan up to its restore, if it has one. The only API
# server is away until then, and nobody could ask again.
until_restored() {
  local i last
  last=$(jq '[.steps[].do] | index("restore") // 0' "$tmp/plan.json")
  for ((i = 1; i <= last; i++)); do
    jq -c ".steps[$i]" "$tmp/plan.json" >"$tmp/step.json"
    type_step
  done
}

# type_step does the step in $tmp/step.json: of several machines the first one, since the plan is
# asked again before the next one.
type_step() {
  local machine line what hop other
  what=$(jq -r .do "$tmp/step.json") machine=$(jq -r '(.machines // [""])[0]' "$tmp/step.json")
  hop=$(jq -r '.hop // ""' "$tmp/plan.json")
  say "step: $what${machine:+ $machine}${hop:+, hop $hop}"
  typed=$((typed + 1)) file='' sum=''
  case $what in
  replace)
    # The only control plane may be off, and admin.conf leads to it already.
    if ((${#control_planes[@]} > 1)); then
      avoid "$machine"
      operator
    fi
    ;;
  snapshot | restore | wait | apply | delete | live) ;;
  *) fail "the plan says $what, which this test does not know" ;;
  esac
  other=${control_planes[0]}
  [[ $other != "$machine" ]] || other=${control_planes[-1]}
  while read -r line <&3; do type_how "$(filled_in "$line")"; done \
    3< <(jq -r '.how[]' "$tmp/step.json")
  while read -r line <&3; do type_wait "$(filled_in "$line")"; done \
    3< <(jq -r '.wait[]?' "$tmp/step.json")
  while read -r line <&3; do type_how "$(filled_in "$line")"; done \
    3< <(jq -r '.then[]?' "$tmp/step.json")
  case $what in
  snapshot | delete) done_here+=("$(name_of "$(<"$tmp/step.json")")") ;;
  esac
}

# filled_in LINE prints the line with the machine of the step, and another control plane.
filled_in() {
  local line=${1//NAME/$machine}
  echo "${line//OTHER/$other}"
}

# type_how LINE does a line of a step.
type_how() {
  local line=$1
  case $line in
  'kubectl drain '*)
    take_out "$machine"
    within "$drain_limit" "$line" eval "$line"
    ;;
  'kubectl uncordon '*)
    within "$step_limit" "$line" eval "$line"
    [[ -z $machine ]] || take_back "$machine"
    ;;
  'kubectl '*' snapshot save '*)
    file=${line#* snapshot save } file=${file%% *}
    within "$step_limit" "$line" eval "$line"
    ;;
  'kubectl -n '* | 'kubectl delete --ignore-not-found '*)
    within "$step_limit" "$line" eval "$line"
    ;;
  'kiln unpack '*' --out objects --show-secrets'*) unpack_objects "$line" ;;
  'kubectl apply --server-side --force-conflicts -f objects/'*)
    line=${line% &&} # each of them has to succeed
    within "$step_limit" "$line" eval "${line/ -f objects/ -f $dir/objects}"
    ;;
  'rm -r objects') rm -r "$dir/objects" ;;
  'first see that what takes their place works'*) ;;
  'copy this file off the machine')
    vm ssh "$machine" cat "$file" >"$dir/copy.db"
    sum=$(vm ssh "$machine" sha256sum "$file")
    ;;
  'remove it there') vm ssh "$machine" rm "$file" ;;
  'power it off'*) power_off ;;
  'render its new document with --restore '*' --review restored'*)
    line=${line#render its new document with } line=${line%% --review*}
    # shellcheck disable=SC2086 # the flag and its value
    kiln render --config cluster.yaml --out "nodes-$version" $line --review restored ||
      fail "the document that restores"
    ;;
  'it runs this state then: go on with kiln plan restored A B --nodes FILE')
    states=(restored "${states[@]}")
    ;;
  'kiln render without --restore'*)
    kiln render --config cluster.yaml --out "nodes-$version" --review "$version" ||
      fail "the documents without --restore"
    ;;
  'give it '*"/$machine"*' and an empty disk'*', and power it on') power_new "$line" ;;
  'copy the snapshot to it under another name, then rename it to '*) bring_snapshot "$line" ;;
  'its hook brings the member into etcd; there is nothing to do' | \
    'if it is not done yet'* | "$other is any other member of etcd than "*) ;;
  *)
    [[ $what == wait ]] || fail "nobody can type this: $line"
    ;;
  esac
}

# power_off: the power of the machine goes. A boot that ends with that has nothing in its net.
off=''
power_off() {
  [[ $off == "$machine" ]] || check_net "$machine"
  vm kill "$machine"
  off=$machine
}

# power_new LINE: the machine with an empty disk, its new document, and the image of the kubelet
# that the line names.
power_new() {
  local kubelet=$version
  [[ ! $1 =~ ' an image with kubelet '(v[0-9.]+) ]] || kubelet=${BASH_REMATCH[1]}
  power_off
  record "$machine is off"
  powered=$(date -u +%FT%TZ)
  KILN_BOOT_MINOR=${image_of[$kubelet]} power "$machine" "$dir/nodes-$kubelet/$machine"
  off=''
  within "$step_limit" "$machine has the container images" pull "$machine"
  push "$machine"
}

# There is no registry, and an image of a machine has the container images of its own release
# alone. But the pods of kube-proxy and CoreDNS are of one release on all machines: of the oldest
# one until the plan applies API objects, of the newest one from then on. So a folder is the
# registry of these two. push MACHINE puts the machine's there, pull MACHINE brings those that the
# machine lacks.
images_on() { vm ssh "$1" ctr -n k8s.io images ls -q 2>"$tmp/attempt"; }
push() {
  local name file
  mkdir -p "$dir/registry"
  for name in $(images_on "$1" | grep -E '/(kube-proxy|coredns):'); do
    file=$dir/registry/${name//[\/:]/_}
    [[ ! -e $file ]] || continue
    vm ssh "$1" ctr -n k8s.io images export - "$name" >"$file" 2>"$tmp/attempt"
  done
}
pull() {
  local names file
  names=$(images_on "$1" | tr '/:' '__') && [[ -n $names ]] || return
  for file in "$dir"/registry/*; do
    grep -qx "${file##*/}" <<<"$names" ||
      vm ssh "$1" ctr -n k8s.io images import - <"$file" || return
  done
}

# bring_snapshot LINE: the copy of the snapshot, where the line says.
bring_snapshot() {
  local where=${1#*rename it to }
  where=${where%%:*}
  within "$form_limit" "the hook of $machine waits for $where" waits_for "$machine" "$where"
  bring "$dir/copy.db" "$machine" "$where"
}

# unpack_objects LINE unpacks the document of a control plane, of the version that the line names if
# another hop follows. Every machine gets the container images that the objects may ask for.
unpack_objects() {
  local name words of=$version
  [[ $1 != *' the documents of v'* ]] || of=${1##* }
  for name in "${machines[@]}"; do
    pull "$name" >"$tmp/attempt" 2>&1 || fail "images for $name"
  done
  read -ra words <<<"${1%% &&*}"
  words[2]=nodes-$of/${words[2]#*/}
  kiln "${words[@]:1}" || fail "$1"
}

# type_wait LINE waits for what a step waits for.
type_wait() {
  local line=$1
  case $line in
  'kubectl get node '*' says Ready, v'*)
    within "$form_limit" "$line" node_says "${line% says *}" "${line##*, }"
    ;;
  'kubectl '*' member list has '*' as started, and no learner')
    line=${line#* has }
    within "$step_limit" "$1" member_is "${line%% *}" "${1%% has *}"
    ;;
  'kubectl '*' endpoint health says healthy')
    within "$form_limit" "$line" eval "${line% says healthy}"
    ;;
  'kubectl '*' rollout status '*) within "$form_limit" "$line" eval "${line%%  #*} --timeout 5s" ;;
  'kubectl '*"says times after it was powered on")
    within "$form_limit" "$line" times_after "${line% says *}" "$powered"
    ;;
  'sha256sum of the copy is that of the file')
    [[ $(sha256sum <"$dir/copy.db") == "${sum%% *}  -" ]] || fail "the copy of the snapshot differs"
    record "$line: $(stat -c %s "$dir/copy.db") bytes"
    ;;
  *) fail "nobody can wait for this: $line" ;;
  esac
}
node_says() { eval "$1 --no-headers" | awk -v version="$2" '
  {print} $2 ~ /^Ready(,|$)/ && $NF == version {found = 1} END {exit !found}'; }
# times_after COMMAND TIME: the command prints times, all of them later.
times_after() {
  local list one
  list=$(eval "$1") && [[ -n $list ]] || return
  echo "$list"
  for one in $list; do [[ $one > $2 ]] || return; done
}
# member_is NAME COMMAND: the list that the command prints has this member, and no learner.
member_is() {
  local list
  list=$(eval "$2") || return
  echo "$list"
  grep -Eq "^[0-9a-f]+, started, $1, .*, false\$" <<<"$list" && ! grep -q ', true$' <<<"$list"
}
