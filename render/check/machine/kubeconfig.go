package machine

import (
	"errors"

	"sigs.k8s.io/yaml"
)

// Kubeconfig is the part of a kubeconfig that is checked.
type Kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     string `json:"certificate-authority"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Cert  string `json:"client-certificate"`
			Key   string `json:"client-key"`
			Token string `json:"token"`
		} `json:"user"`
	} `json:"users"`
}

// ReadKubeconfig reads a kubeconfig with one cluster and one user, as kiln writes them. It fails on
// anything else. The error quotes nothing, because a kubeconfig may hold a secret.
func ReadKubeconfig(data []byte) (*Kubeconfig, error) {
	k := &Kubeconfig{}
	if err := yaml.Unmarshal(data, k); err != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		return nil, errors.New("not a kubeconfig with one cluster and one user")
	}
	return k, nil
}

// Files returns the paths of the files that a kubeconfig names.
func (k *Kubeconfig) Files() (paths []string) {
	cluster, user := k.Clusters[0].Cluster, k.Users[0].User
	for _, p := range []string{cluster.CA, user.Cert, user.Key} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	return paths
}
