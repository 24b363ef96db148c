# shellcheck shell=bash disable=SC2154
# What scripts share that use kiln as an operator does, in the folder with cluster.yaml. Sourced
# after cluster.sh.

# kiln runs it, and keeps what it prints in $tmp/attempt. Its ssh is vm.sh, after ssh_by_vm.
kiln() { (cd "$dir" && PATH=$tmp/bin:$PATH "$tmp/kiln" "$@") >"$tmp/attempt" 2>&1; }

# says PATTERN: what kiln printed last has this line.
says() { grep -Eq -- "$1" "$tmp/attempt" || fail "kiln did not say: $1"; }

# operator: the kubeconfig $tmp/admin.conf reaches the first of $control_planes. Nothing here
# resolves the endpoint.
operator() {
  local server
  server=$(vm api "${control_planes[0]}")
  operator_files
  sed -E "s#^( *)server: .*#\\1server: $server\n\\1tls-server-name: kubernetes#" \
    "$dir/nodes/admin.conf" >"$tmp/admin.conf"
}
