package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"kiln.dev/kiln/render/fleet/running"
)

// A list comes in pages of so many objects.
const (
	pageSize = 500
	maxPages = 4 * running.MaxObjects / pageSize // the API server may send less than a page
)

// Limit is how long all questions of one look may take.
const Limit = 2 * time.Minute

// Errors of an API server that has always one more page.
var (
	errPages = fmt.Errorf("more than %d pages", maxPages)
	errEmpty = errors.New("a page without objects that is not the last one")
)

// list asks for the pages of a list, and calls next for each. Both may stop it with an error. It
// returns a running.Bound if some objects are left out.
func (c *Client) list(
	ctx context.Context, path string, query url.Values,
	next func(*running.Reader) (running.Head, error),
) error {
	page := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for name, values := range query {
		page[name] = values
	}
	var r running.Reader
	for range maxPages {
		body, err := c.open(ctx, path, page)
		if err != nil {
			return err
		}
		r.Read(body)
		before := r.Count()
		head, err := next(&r)
		_ = body.Close()
		if body.failed != nil {
			return c.unanswered(ctx, body.failed)
		}
		if errors.Is(err, io.EOF) {
			err = running.ErrNoJSON
		}
		switch {
		case err != nil || r.Count() > before && head.Continue != "":
		case head.Continue != "":
			err = errEmpty
		default:
			err = r.Unread()
		}
		if err != nil {
			return fmt.Errorf("%s: GET %s: %w", c.URL, path, err)
		}
		if head.Continue == "" {
			return nil
		}
		page.Set("continue", head.Continue)
	}
	return fmt.Errorf("%s: GET %s: %w", c.URL, path, errPages)
}
