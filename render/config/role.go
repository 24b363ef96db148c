package config

// The values of a node's role.
const (
	roleControlPlane = "control-plane"
	roleWorker       = "worker"
	roleEtcd         = "etcd"
)

// The names of the layers, but for those of single nodes and pools.
const (
	layerDefault      = "default"
	layerAll          = "machines"
	layerControlPlane = "controlPlane.machines"
	layerEtcd         = "controlPlane.etcd.machines"
	layerWorkers      = "workers.machines"
)
