package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// AfterBoot returns the machine that a document describes as it is after its boot. The folder
// record holds three files: facts (what test/boot/facts prints), kubelet (the kubelet's answer to
// /configz), and of a control plane objects (the cluster's pods, ClusterRoles and
// ClusterRoleBindings, as JSON). Name and role are those of the document. It fails if the record is
// not complete, or if a component does not run: many checks pass where there is nothing.
func AfterBoot(document *Machine, record string) (*Machine, error) {
	m := &Machine{}
	facts, err := os.ReadFile(filepath.Join(record, "facts"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(facts, m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(record, "facts"), err)
	}
	if m.Booted == nil || len(m.Booted.Processes) == 0 || len(m.Files) == 0 {
		return nil, fmt.Errorf("%s: no processes, or no files", filepath.Join(record, "facts"))
	}
	m.Case, m.Format, m.OS, m.Role = document.Case, document.Format, document.OS, document.Role
	m.Name, m.Pool = document.Name, document.Pool
	for _, component := range components {
		if document.Command(component) != nil && m.Command(component) == nil {
			return nil, fmt.Errorf("%s: %s does not run", m.Name, component)
		}
	}

	if m.Joins() {
		m.Booted.Kubelet, err = jsonWith(filepath.Join(record, "kubelet"), "kubeletconfig")
		if err != nil {
			return nil, err
		}
	}
	if m.ControlPlane() {
		m.Booted.Objects, err = jsonWith(filepath.Join(record, "objects"), "items")
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// components are the programs that have to run if the document says so.
var components = []string{
	"kubelet", "kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler", "kube-proxy",
}

// jsonWith reads a JSON object in which a field, a list or an object, is not empty.
func jsonWith(file, field string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	list, _ := fields[field].([]any)
	object, _ := fields[field].(map[string]any)
	if len(list)+len(object) == 0 {
		return nil, fmt.Errorf("%s: there is no %s, or nothing in it", file, field)
	}
	return text, nil
}
