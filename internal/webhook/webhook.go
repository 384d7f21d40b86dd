// SPDX-License-Identifier: Apache-2.0

// Package webhook signs messages by the rules of the Standard Webhooks (www.standardwebhooks.com), and checks
// their signatures.
//
// A message has three headers: its identifier, the time at which it was sent in seconds since 1970, and
// signatures, each "v1," and the base64 of the HMAC-SHA256 of "IDENTIFIER.TIME.BODY", separated by spaces. A
// key is written as "whsec_" and base64. More signatures than one let keys be replaced; those of other
// versions than v1 are passed over.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The headers of a message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTime      = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// KeyPrefix begins a key as it is written.
const KeyPrefix = "whsec_"

// Tolerance is how far the time of a message may be from now.
const Tolerance = 5 * time.Minute

// version of a signature by HMAC-SHA256, with its comma.
const version = "v1,"

// Limits of checked requests, which any client may send.
const (
	mostID         = 256 // bytes
	mostSignatures = 16
)

// Errors of Verify.
var (
	ErrHeaders   = errors.New("webhook-id, webhook-timestamp or webhook-signature is missing or wrong")
	ErrTime      = fmt.Errorf("the webhook-timestamp is more than %s from now", Tolerance)
	ErrSignature = errors.New("no signature fits")
)

// ParseKey returns the bytes of a key. What does not begin with KeyPrefix is taken as it is.
func ParseKey(s string) ([]byte, error) {
	text, ok := strings.CutPrefix(s, KeyPrefix)
	if !ok {
		return []byte(s), nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) == 0 {
		return nil, errors.New("a key is " + KeyPrefix + " and base64") // and is not shown
	}
	return key, nil
}

// Sign returns the signature of a message.
func Sign(key []byte, id string, at time.Time, body []byte) string {
	return version + base64.StdEncoding.EncodeToString(sum(key, id, strconv.FormatInt(at.Unix(), 10), body))
}

func sum(key []byte, id, unix string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(id + "." + unix + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Signed is a message with the values of its headers.
type Signed struct {
	ID, Time, Signature string
	Body                []byte
}

// Verify returns nil when one of the signatures is made with one of the keys, and the message is about as old
// as now. It takes as long for a wrong signature as for a right one.
func Verify(keys [][]byte, s Signed, now time.Time) error {
	unix, err := strconv.ParseInt(s.Time, 10, 64)
	if err != nil || s.ID == "" || len(s.ID) > mostID || s.Signature == "" {
		return ErrHeaders
	}
	if at := time.Unix(unix, 0); at.Before(now.Add(-Tolerance)) || at.After(now.Add(Tolerance)) {
		return ErrTime
	}
	var given [][]byte
	for _, one := range strings.Fields(s.Signature) {
		text, ok := strings.CutPrefix(one, version)
		if !ok || len(given) == mostSignatures {
			continue
		}
		if mac, err := base64.StdEncoding.DecodeString(text); err == nil {
			given = append(given, mac)
		}
	}
	fits := false
	for _, key := range keys {
		want := sum(key, s.ID, s.Time, s.Body)
		for _, mac := range given {
			fits = hmac.Equal(mac, want) || fits
		}
	}
	if !fits {
		return ErrSignature
	}
	return nil
}
