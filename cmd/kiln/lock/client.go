package lock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// The most bytes of a program, and of a list of hashes.
const (
	maxProgram = 1 << 30
	maxList    = 1 << 20
)

// tries is how often a file is asked for that does not come whole; pause is the time before the
// second time, and doubles.
const (
	tries = 4
	pause = time.Second
)

// client asks servers. Its zero value is ready for use.
type client struct {
	once sync.Once
	http *http.Client
}

// get calls read with the body of a file, of at most limit bytes. It tries again if the server
// fails or the file does not come whole.
func (c *client) get(
	ctx context.Context, url string, limit int64, read func(body io.Reader) error,
) error {
	c.once.Do(func() {
		// Not the default transport, which kiln takes away.
		c.http = &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 30 * time.Second,
			ForceAttemptHTTP2:     true,
		}}
	})
	var err error
	for n := range tries {
		if n > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause << (n - 1)):
			}
		}
		again := false
		if again, err = c.try(ctx, url, limit, read); !again {
			break
		}
	}
	return err
}

// try is get without a second try. again reports whether one may help.
func (c *client) try(
	ctx context.Context, url string, limit int64, read func(body io.Reader) error,
) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("User-Agent", "kiln")
	answer, err := c.http.Do(request)
	if err != nil {
		// A server that cannot be reached will not be a second later.
		var op *net.OpError
		unreachable := errors.As(err, &op) && op.Op == "dial"
		return ctx.Err() == nil && !unreachable, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		again = answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests
		return again, fmt.Errorf("%s: the server says %s", url, answer.Status)
	}
	body := &limited{rest: limit, from: answer.Body}
	if err := read(body); err != nil {
		return ctx.Err() == nil && !errors.Is(err, errTooLong), fmt.Errorf("%s: %w", url, err)
	}
	return false, nil
}

// errTooLong comes from a file that no release has.
var errTooLong = errors.New("has more bytes than any release")

// limited fails after rest bytes.
type limited struct {
	rest int64
	from io.Reader
}

func (l *limited) Read(p []byte) (n int, err error) {
	n, err = l.from.Read(p)
	if l.rest -= int64(n); l.rest < 0 {
		return 0, errTooLong
	}
	return n, err
}

// hash returns the SHA-256 of a file, in hex, and its size in bytes.
func (c *client) hash(ctx context.Context, url string) (sum string, size int64, err error) {
	err = c.get(ctx, url, maxProgram, func(body io.Reader) error {
		h := sha256.New()
		n, err := io.Copy(h, body)
		sum, size = hex.EncodeToString(h.Sum(nil)), n
		return err
	})
	return sum, size, err
}

// aSum matches a SHA-256 in hex.
var aSum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// published returns the SHA-256 that a list says of a file. A line of the list is a sum alone, or a
// sum and the name of a file.
func (c *client) published(ctx context.Context, list, file string) (sum string, err error) {
	err = c.get(ctx, list, maxList, func(body io.Reader) error {
		text, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) == 0 || !aSum.MatchString(words[0]) {
				continue
			}
			if len(words) == 1 || path.Base(strings.TrimPrefix(words[1], "*")) == path.Base(file) {
				sum = words[0]
				return nil
			}
		}
		return fmt.Errorf("has no SHA-256 of %s", path.Base(file))
	})
	return sum, err
}
