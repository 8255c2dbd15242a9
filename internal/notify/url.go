package notify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// webhook posts notices to a URL.
type webhook struct {
	url    string
	key    Key
	client *http.Client
	now    func() time.Time
}

// CheckURL says in a sentence what is wrong with an address for notices.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("notices go to an http:// or https:// address")
	}
	return nil
}

// URL is a channel that posts to an address, signed.
func URL(address string, key Key) Channel {
	client := &http.Client{
		Timeout: attempt,
		// What is signed for one receiver is not taken to another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &webhook{url: address, key: key, client: client, now: time.Now}
}

// Name implements Channel.
func (*webhook) Name() string { return "url" }

// Deliver implements Channel; every status of success means that it was taken.
func (w *webhook) Deliver(ctx context.Context, n Notice) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(n.Body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	at := w.now()
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Paddock", "Idempotency-Key": n.ID,
		"Webhook-Id": n.ID, "Webhook-Timestamp": seconds(at), "Webhook-Signature": w.key.Sign(n.ID, at, n.Body),
	} {
		r.Header.Set(name, value)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return withoutURL(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection is used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered %s", answer.Status)
	}
	return nil
}

// withoutURL takes the address off an error, for it may hold a secret and errors
// are logged.
func withoutURL(err error) error {
	if u, ok := err.(*url.Error); ok {
		return u.Err
	}
	return err
}
