package judges

import (
	"errors"
	"fmt"
	"time"

	"kiln.dev/kiln/test/judges/machine"
)

// trustJudge checks that the machines of a cluster fit together, which no single file shows.
// Certificates verify where they are presented. Keys lie with the programs that use them. Each file
// that is named exists for the user that reads it. Values that all machines share are the same on
// all.
func trustJudge(cluster []*Machine) []string {
	t, err := newTrust(cluster)
	if err != nil {
		return []string{err.Error()}
	}
	for _, m := range cluster {
		t.at = m
		for _, check := range machineChecks {
			check(t)
		}
		if m.ControlPlane() {
			for _, check := range controlPlaneChecks {
				check(t)
			}
		}
		if !m.Joins() {
			for _, check := range etcdMachineChecks {
				check(t)
			}
		}
	}
	return t.findings
}

// accessJudge checks with the authorizers and the audit policy of a release that each identity may
// do what it needs and no more, and that its requests are audited.
func accessJudge(cluster []*Machine) []string {
	t, err := newTrust(cluster)
	if err != nil {
		return []string{err.Error()}
	}
	for _, m := range t.controlPlanes {
		t.at = m
		t.rights()
		t.audit()
	}
	return t.findings
}

// newTrust reads what the judges of a whole cluster ask for again and again.
func newTrust(cluster []*Machine) (*trust, error) {
	t := &trust{cluster: cluster, commands: map[*Machine]map[string][]string{}}
	for _, m := range cluster {
		t.commands[m] = map[string][]string{}
		for _, name := range components {
			t.commands[m][name] = m.Command(name)
		}
		if m.ControlPlane() {
			t.controlPlanes = append(t.controlPlanes, m)
		}
		if t.commands[m]["etcd"] != nil {
			t.members = append(t.members, m)
		}
	}
	if len(t.controlPlanes) == 0 {
		return nil, errors.New("the cluster has no control plane")
	}
	t.now, t.servers = t.issued(), t.apiServers()
	return t, nil
}

// machineChecks are for every machine, controlPlaneChecks for control planes too, etcdMachineChecks
// for machines with role etcd.
var (
	machineChecks = []func(*trust){
		(*trust).manifest, (*trust).modes, (*trust).links, (*trust).units, (*trust).kernel,
		(*trust).runtime, (*trust).hook,
		(*trust).credentials, (*trust).privateKeys, (*trust).shared,
		(*trust).kubeconfigs, (*trust).dns, (*trust).ports,
		(*trust).images, (*trust).balancer,
	}
	controlPlaneChecks = []func(*trust){
		(*trust).readable, (*trust).authorities, (*trust).serviceAccountKey,
		(*trust).anonymous, (*trust).admission,
		(*trust).node, (*trust).etcdMembers, (*trust).etcdServers, (*trust).proxy,
		(*trust).probes, (*trust).vip,
	}
	etcdMachineChecks = []func(*trust){
		(*trust).readable, (*trust).etcdMembers, (*trust).probes, (*trust).standalone,
	}
)

// trust is what trustJudge and accessJudge know while they go from machine to machine.
type trust struct {
	cluster, controlPlanes []*Machine
	members                []*Machine                       // with etcd
	commands               map[*Machine]map[string][]string // of components
	servers                []string                         // in all kubeconfigs, sorted
	now                    time.Time                        // at which the documents were made
	at                     *Machine                         // the one that is looked at
	findings               []string
}

func (t *trust) find(format string, args ...any) {
	t.findings = append(t.findings, t.at.Name+": "+fmt.Sprintf(format, args...))
}

// first is a control plane; that they are all alike is checked of each.
func (t *trust) first() *Machine { return t.controlPlanes[0] }

// option returns the value of a flag of a component on a machine, or "".
func (t *trust) option(m *Machine, component, name string) string {
	text, _ := machine.Flag(t.commands[m][component], name)
	return text
}

// components are the programs whose command lines are read.
var components = []string{
	"kubelet", "kube-apiserver",
	"etcd", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kube-vip", "haproxy",
}
