package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"kiln.dev/kiln/render/fleet/running"
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
// that of a pod on its own Node. With a running.Bound these are not all of them.
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
		func(r *running.Reader) (running.Head, error) { return r.Next(add) })
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

// Workloads calls do with each workload of a kind that kiln applied, or that is wanted.
func (c *Client) Workloads(
	ctx context.Context, kind running.Kind, wanted map[running.Name]bool,
	do func(*running.Workload),
) error {
	add := func(text []byte) error {
		w, err := running.ParseWorkload(kind, text, wanted)
		if err == nil && w != nil {
			do(w)
		}
		return err
	}
	return c.list(ctx, "/apis/apps/v1/"+kind.Resource, nil,
		func(r *running.Reader) (running.Head, error) { return r.Next(add) })
}

// errEnough ends a list of pods.
var errEnough = errors.New("more pods than are read")

// Pods returns the pods that the selector of a workload matches, at most so many. It reports
// whether these are all.
func (c *Client) Pods(
	ctx context.Context, w *running.Workload, most int,
) (pods []running.Pod, all bool, err error) {
	add := func(text []byte) error {
		if len(pods) == most {
			return errEnough
		}
		p, err := running.ParsePod(text)
		if err == nil {
			pods = append(pods, p)
		}
		return err
	}
	err = c.list(ctx, "/api/v1/namespaces/"+url.PathEscape(w.Namespace)+"/pods",
		url.Values{"labelSelector": {w.Selector}},
		func(r *running.Reader) (running.Head, error) { return r.Next(add) })
	if errors.Is(err, errEnough) {
		return pods, false, nil
	}
	return pods, err == nil, err
}
