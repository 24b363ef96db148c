package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// unanswered returns why a question has no answer, with what to look at. The kubeconfig may be of
// another cluster, so that it is named in each case.
func (c *Client) unanswered(ctx context.Context, err error) error {
	return fmt.Errorf("%s: %w", c.file, reason{c.reason(ctx, err), err})
}

// reason is an error in words for people.
type reason struct {
	text  string
	cause error
}

func (r reason) Error() string { return r.text }
func (r reason) Unwrap() error { return r.cause }

func (c *Client) reason(ctx context.Context, err error) string {
	var op *net.OpError
	var slow net.Error
	var name *net.DNSError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	isOne := func(e error) bool { return errors.Is(err, e) }
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("no more time for %s: %s", c.URL, ctx.Err())
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fmt.Sprintf("the proxy on the way to %s does not answer; HTTPS_PROXY or proxy-url "+
			"in the kubeconfig names it (%s)", c.URL, op.Err)
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("no such name: %s; is the endpoint right, and does this computer's DNS "+
			"know it?", name.Name)
	case errors.As(err, &name) && name.IsTimeout:
		return fmt.Sprintf("this computer's DNS server does not answer for %s; is it up?",
			name.Name)
	case errors.As(err, &slow) && slow.Timeout():
		return fmt.Sprintf("no answer from %s within %g s; is the endpoint up, and is this the "+
			"right kubeconfig?", c.URL, c.http.Timeout.Seconds())
	case isOne(syscall.ECONNREFUSED):
		return c.URL + " refuses the connection; does an API server run there, and is this the " +
			"right kubeconfig?"
	case errors.As(err, &unknown):
		return fmt.Sprintf("the certificate of %s is of another CA; is this the kubeconfig of "+
			"another cluster, or from before a rotation? kiln kubeconfig makes one", c.URL)
	case errors.As(err, &host):
		return fmt.Sprintf("the certificate of %s is for other names; is the endpoint one that "+
			"cluster.yaml names? (%s)", c.URL, host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if cert := invalid.Cert; time.Now().Before(cert.NotBefore) {
			return fmt.Sprintf("the certificate of %s is not valid before %s; correct the clock "+
				"of this computer", c.URL, cert.NotBefore.UTC().Format(time.DateOnly))
		}
		return fmt.Sprintf("the certificate of %s has ended on %s; give the control planes newer "+
			"documents (kiln certs), or correct the clock of this computer", c.URL,
			invalid.Cert.NotAfter.UTC().Format(time.DateOnly))
	case isOne(http.ErrSchemeMismatch) || errors.As(err, &record):
		return c.URL + " speaks no TLS; is it the port of the API server?"
	case slices.ContainsFunc(ended, isOne):
		return c.URL + " ended the connection before its answer was whole; is an API server up " +
			"behind it, and is this the right kubeconfig?"
	}
	// The error of net/http repeats the method and the URL.
	var wrapped *url.Error
	for errors.As(err, &wrapped) && strings.HasPrefix(err.Error(), "Get ") {
		err = wrapped.Err
	}
	return fmt.Sprintf("%s: %s", c.URL, err)
}

// ended are the errors of a connection that the other side ended.
var ended = []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}

// body is the body of an answer. It keeps why the answer did not come whole: who reads it may take
// that for a mistake in the text.
type body struct {
	io.ReadCloser
	failed error
}

func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.failed == nil {
		b.failed = err
	}
	return n, err
}
