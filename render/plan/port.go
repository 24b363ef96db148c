package plan

import "kiln/render/target"

// Ports on the machines.
const (
	APIServerPort      = target.APIServerPort
	EtcdClientPort     = target.EtcdClientPort
	EtcdPeerPort       = target.EtcdPeerPort
	EtcdMetricsPort    = target.EtcdMetricsPort
	KubeletPort        = target.KubeletPort
	KubeletHealthPort  = target.KubeletHealthPort
	ManagerPort        = target.ManagerPort
	SchedulerPort      = target.SchedulerPort
	VIPMetricsPort     = target.VIPMetricsPort // kube-vip's probes ask it too
	BalancerHealthPort = target.BalancerHealthPort
)
