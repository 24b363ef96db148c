package apiserver

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"kiln/render/items"
)

// maxSaid bounds what is kept of a pod: names have at most 253 characters.
const maxSaid = 1000

// Pod is a static pod of a control plane, as its kubelet shows it to the API server.
type Pod struct {
	Component string // what runs in it, such as etcd
	Node      string
	Ready     bool
	Why       string // why it is not ready: a word; empty if it is
}

// StaticPods returns the pods that say they are static ones of control planes. Any kubelet may say
// that of a pod on its own Node.
func (c *Client) StaticPods(ctx context.Context) (pods []Pod, err error) {
	add := func(text []byte) error {
		p, err := parsePod(text)
		known := p.Component != "" && p.Node != ""
		if err == nil && known && len(p.Component)+len(p.Node)+len(p.Why) <= maxSaid {
			pods = append(pods, p)
		}
		return err
	}
	query := url.Values{"labelSelector": {"tier=control-plane"}}
	err = c.list(ctx, "/api/v1/namespaces/kube-system/pods", query,
		func(r *items.Reader) (items.Head, error) { return r.Next(add) })
	return pods, err
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
