package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// maxPods bounds the answer with static pods: one takes some 10 kB, and a control plane has four.
const maxPods = 16 << 20

// Pod is a static pod of a control plane, as its kubelet shows it to the API server.
type Pod struct {
	Component string // what runs in it, such as etcd
	Node      string
	Ready     bool
	Why       string // why it is not ready: a word; empty if it is
}

// StaticPods returns the pods that say they are static ones of control planes. Any kubelet may say
// that of a pod on its own Node.
func (c *Client) StaticPods(ctx context.Context) ([]Pod, error) {
	const path = "/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane"
	body, err := c.get(ctx, path, maxPods)
	if err != nil {
		return nil, err
	}
	// One after the other: a pod takes hundreds of times the memory of its shortest text.
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("the list of pods cannot be read: %w", err)
	}
	var pods []Pod
	for _, text := range list.Items {
		p, err := parsePod(text)
		if err != nil {
			return nil, fmt.Errorf("the list of pods cannot be read: %w", err)
		}
		if p.Component != "" && p.Node != "" {
			pods = append(pods, p)
		}
	}
	return pods, nil
}

func parsePod(text []byte) (Pod, error) {
	var says struct {
		Metadata struct{ Labels struct{ Component string } }
		Spec     struct{ NodeName string }
		Status   struct {
			Phase             string
			Conditions        []struct{ Type, Status string }
			ContainerStatuses []struct {
				Ready bool
				State struct {
					Waiting *struct{ Reason string }
					Running *struct{}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &says); err != nil {
		return Pod{}, err
	}
	p := Pod{Component: says.Metadata.Labels.Component, Node: says.Spec.NodeName,
		Why: strings.ToLower(says.Status.Phase)}
	for _, c := range says.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			p.Ready, p.Why = true, ""
			return p, nil
		}
	}
	for _, c := range says.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			p.Why = c.State.Waiting.Reason
		case c.State.Running != nil && !c.Ready:
			p.Why = "not ready"
		}
	}
	return p, nil
}
