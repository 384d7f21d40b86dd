// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"mirrord/internal/webhook"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// byWebhook posts to notify.webhook, signed with notify.webhook_key.
func (n *Notifier) byWebhook(j *job.Job) []receiver {
	w := j.Notify.Webhook
	if w.IsZero() {
		return nil
	}
	return []receiver{{
		name:  webhookName(w),
		key:   "webhook " + w.String(),
		again: true,
		send:  func(ctx context.Context, m status.Message) error { return n.webhook(ctx, j, m) },
	}}
}

// webhookName shows of the address in a job file whose it is: the path is often the secret.
func webhookName(w job.Secret) string {
	if w.Value == "" {
		return "webhook " + w.String()
	}
	u, err := url.Parse(w.Value)
	if err != nil {
		return "webhook"
	}
	return "webhook " + u.Scheme + "://" + u.Host + "/…"
}

// Messages are signed by the rules of the Standard Webhooks (package webhook), and as they were before.
//
// SignatureHeader holds "t=UNIX,v1=HEX": the time at which it is sent and the HMAC-SHA256, keyed with
// notify.webhook_key, of UNIX, a dot and the body. Who receives it computes the same, and refuses a time that
// is not about now.
const SignatureHeader = "X-Mirrord-Signature"

// Sign returns the value of SignatureHeader.
func Sign(key string, at time.Time, body []byte) string {
	unix := strconv.FormatInt(at.Unix(), 10)
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(unix + "."))
	h.Write(body)
	return "t=" + unix + ",v1=" + hex.EncodeToString(h.Sum(nil))
}

func (n *Notifier) webhook(ctx context.Context, j *job.Job, m status.Message) error {
	addr, err := j.Notify.Webhook.Resolve(n.LookupEnv, n.ReadFile)
	if err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	resp, err := n.post(ctx, addr, j, m, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answers %s", resp.Status)
	}
	return nil
}

func (n *Notifier) post(
	ctx context.Context, addr string, j *job.Job, m status.Message, body []byte,
) (*http.Response, error) {
	req, err := newPost(ctx, addr, body)
	if err != nil {
		return nil, errors.New("the address is no web URL") // and is not shown: it may be a secret
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mirrord")
	req.Header.Set("X-Mirrord-Event", string(m.Kind))
	id, now := messageID(body), n.Now()
	req.Header.Set(webhook.HeaderID, id)
	req.Header.Set(webhook.HeaderTime, strconv.FormatInt(now.Unix(), 10))
	if k := j.Notify.WebhookKey; !k.IsZero() {
		text, err := k.Resolve(n.LookupEnv, n.ReadFile)
		if err != nil {
			return nil, err
		}
		key, err := webhook.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("notify.webhook_key: %w", err)
		}
		req.Header.Set(webhook.HeaderSignature, webhook.Sign(key, id, now, body))
		req.Header.Set(SignatureHeader, Sign(text, now, body))
	}
	client := &http.Client{
		Transport: n.Transport(j),
		// a message belongs to the address that was given
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	return resp, nil
}

// messageID is the same when a message is sent again, so that its receiver can tell.
func messageID(body []byte) string {
	sum := sha256.Sum256(body)
	return "msg_" + hex.EncodeToString(sum[:16])
}

func newPost(ctx context.Context, addr string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, addr, bytes.NewReader(body))
	if err == nil && (req.URL.Host == "" || (req.URL.Scheme != "http" && req.URL.Scheme != "https")) {
		err = errors.New("no web URL")
	}
	return req, err
}

// plain takes the address out of an error: it may be a secret.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
