package apiserver

import "time"

// SetTimeout changes how long one question may take.
func (c *Client) SetTimeout(t time.Duration) { c.http.Timeout = t }
