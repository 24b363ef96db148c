package plan

import (
	"fmt"
	"strings"
)

// Fact is a property of the cluster that many files follow from.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Overview returns the facts that head the review twin and the inventory.
func (p *Plan) Overview() []Fact {
	network := &p.Config.Spec.Network
	return []Fact{
		{"endpoint", p.EndpointURL()},
		{"pod subnets", strings.Join(network.PodSubnets, ",")},
		{"service subnets", strings.Join(network.ServiceSubnets, ",")},
		{"dns domain", p.DNSDomain},
		{"pod network", p.podNetwork()},
		{"proxy", network.Proxy},
	}
}

// podNetwork returns what the machines must agree on so that their pods reach each other.
func (p *Plan) podNetwork() string {
	network := &p.Config.Spec.Network
	if p.Flannel() {
		backend := &network.Flannel
		out := network.CNI + ", " + backend.Backend
		if backend.Port != 0 {
			out += fmt.Sprintf(", port %d", backend.Port)
		}
		return out
	}
	return network.CNI
}
