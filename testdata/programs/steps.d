forget() {
set +f
for path in $retire; do
rm -f $root$path
done
set -f
sync
}
step_node() {
until await "$node" registered; do
code=node-not-registered remedy="$look"
case $http in
000)
code=api-endpoint remedy='see that this leads to the cluster'
;;
40[13])
code=kubelet-credential remedy='kubectl get csr'
;;
200) code=name-taken remedy='another machine has this name: turn it off, or give it its own document' ;;
esac
[ "$curled" != 60 ] || code=api-wrong-cluster remedy='another cluster, or a certificate without this name: correct endpoint or apiServer.certSANs'
late "$code" "$api/api/v1/nodes/$node" "$found" "$remedy"
done
}
