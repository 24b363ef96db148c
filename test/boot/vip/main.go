// Command vip stands in for kube-vip, whose module cannot be built here: it takes kube-vip's
// settings from the environment and its kubeconfig from where kube-vip looks, elects who carries
// the address by the same Lease, sets the address and says by ARP where it is. So a boot test sees
// whether the pod's rights, credential, capabilities and settings are enough for all that.
//
//	kube-vip manager
//
// It understands the settings that kiln writes for mode arp, and nothing else.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

func main() {
	c, err := newCandidate()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-vip:", err)
		os.Exit(1)
	}
	// The probes ask here.
	go func() {
		err := http.ListenAndServe(os.Getenv("prometheus_server"), http.NotFoundHandler())
		fmt.Fprintln(os.Stderr, "kube-vip:", err)
		os.Exit(1)
	}()
	c.release() // of a life before this one
	for ; ; time.Sleep(c.retry) {
		switch err := c.elect(); {
		case err == nil:
			c.renewed = time.Now()
			c.carry()
		case err != errTaken && time.Since(c.renewed) < c.renew:
			fmt.Println(err)
		default:
			if err != errTaken {
				fmt.Println(err)
			}
			c.release()
		}
	}
}

// candidate is one of those who may carry the address.
type candidate struct {
	name, address, device  string
	leases, lease          string // URLs
	duration, renew, retry time.Duration
	client                 *http.Client

	renewed time.Time // when the Lease was last ours
	carries bool

	// The last change of the Lease that was seen, by this machine's clock: clocks of others are not
	// compared.
	seen   string
	seenAt time.Time
}

var errTaken = fmt.Errorf("another one has the Lease")

func newCandidate() (*candidate, error) {
	conf, err := os.ReadFile("/etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	path := func(key string) string {
		match := regexp.MustCompile(key + `: "?(/[^"\s]+)`).FindSubmatch(conf)
		if match == nil {
			return ""
		}
		return string(match[1])
	}
	pair, err := tls.LoadX509KeyPair(path("client-certificate"), path("client-key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(path("certificate-authority"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	c := &candidate{
		name:    os.Getenv("vip_nodename"),
		address: os.Getenv("address") + "/32",
		device:  os.Getenv("vip_interface"),
		client: &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}},
		}},
	}
	for name, into := range map[string]*time.Duration{
		"vip_leaseduration": &c.duration,
		"vip_renewdeadline": &c.renew,
		"vip_retryperiod":   &c.retry,
	} {
		seconds, err := strconv.Atoi(os.Getenv(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		*into = time.Duration(seconds) * time.Second
	}
	c.leases = os.Getenv("kubernetes_addr") + "/apis/coordination.k8s.io/v1/namespaces/" +
		os.Getenv("cp_namespace") + "/leases"
	c.lease = c.leases + "/" + os.Getenv("vip_leasename")
	return c, nil
}

type lease struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Holder   string `json:"holderIdentity"`
		Duration int    `json:"leaseDurationSeconds"`
		Renewed  string `json:"renewTime"`
	} `json:"spec"`
}

// elect takes or renews the Lease. It returns errTaken if somebody else has it.
func (c *candidate) elect() error {
	var l lease
	status, err := c.call(http.MethodGet, c.lease, nil, &l)
	if err != nil {
		return err
	}
	switch status {
	case http.StatusOK:
		if now := l.Spec.Holder + l.Spec.Renewed; now != c.seen {
			c.seen, c.seenAt = now, time.Now()
		}
		if l.Spec.Holder != c.name && l.Spec.Holder != "" && time.Since(c.seenAt) < c.duration {
			return errTaken
		}
	case http.StatusNotFound:
		l = lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: map[string]any{
			"name": os.Getenv("vip_leasename"),
		}}
	default:
		return fmt.Errorf("read the Lease: HTTP %d", status)
	}
	l.Spec.Holder, l.Spec.Duration = c.name, int(c.duration/time.Second)
	l.Spec.Renewed = time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	method, url := http.MethodPut, c.lease
	if status == http.StatusNotFound {
		method, url = http.MethodPost, c.leases
	}
	if status, err = c.call(method, url, l, nil); err != nil {
		return err
	}
	if status/100 != 2 {
		return fmt.Errorf("write the Lease: HTTP %d", status)
	}
	return nil
}

func (c *candidate) call(method, url string, in, out any) (status int, err error) {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return 0, err
		}
	}
	request, err := http.NewRequest(method, url, &body)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if out != nil && response.StatusCode == http.StatusOK {
		return response.StatusCode, json.NewDecoder(response.Body).Decode(out)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// carry sets the address, and says each time where it is.
func (c *candidate) carry() {
	if !c.carries {
		fmt.Println("carrying", c.address)
		c.carries = run("ip", "address", "replace", c.address, "dev", c.device)
	}
	run("arping", "-q", "-U", "-c", "1", "-I", c.device, os.Getenv("address"))
}

func (c *candidate) release() {
	if c.carries {
		fmt.Println("giving up", c.address)
	}
	c.carries = false
	// This fails if the machine does not have the address, as most do not.
	_ = exec.Command("ip", "address", "del", c.address, "dev", c.device).Run()
}

func run(name string, args ...string) bool {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		fmt.Printf("%s %v: %v: %s\n", name, args, err, out)
	}
	return err == nil
}
