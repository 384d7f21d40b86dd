// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"mirrord/site"
)

// The classes of an exchange that yielded no usable answer. [Client.Do] returns them inside an [*Error]; use
// errors.Is.
var (
	ErrTimeout   = errors.New("no answer in time")        // connect, header, idle or total time was up
	ErrTooSlow   = errors.New("too slow")                 // fewer bytes than MinRate for MinRateWindow
	ErrTruncated = errors.New("truncated body")           // framing or coding ended early
	ErrTooLarge  = errors.New("body over the size limit") // MaxBody, by declaration or by count
	ErrBomb      = errors.New("decompression bomb")       // MaxRatio
	ErrCoding    = errors.New("bad content coding")       // unknown coding, or data that is not in it
	// more than maxHeaderBytes or too many fields, 1xx included
	ErrHeaderFlood      = errors.New("header over the size limit")
	ErrForbiddenAddress = errors.New("address not allowed")          // the address guard said no
	ErrTLS              = errors.New("tls handshake or certificate") // includes an http answer on an https port
	ErrDNS              = errors.New("name not resolved")            //
	ErrRefused          = errors.New("connection refused")           //
	ErrUnreachable      = errors.New("host unreachable")             //
	// reset, closed before or in the answer, GOAWAY
	ErrReset    = errors.New("connection broken")
	ErrProtocol = errors.New("not proper http")                 // junk where a header, chunk or frame should be
	ErrCanceled = errors.New("canceled")                        // the caller's context ended
	ErrSink     = errors.New("body not kept by its receiver")   // the Sink or its writer failed
	ErrConfig   = errors.New("invalid fetch options")           // from New
	errRestart  = errors.New("range not usable, start at zero") // internal: repeat without Range
)

// Error is an exchange that failed. Class is one of the sentinels above, Err the cause when there is more to
// say.
type Error struct {
	URL   site.URL
	Class error
	Err   error

	reused   bool // the connection had answered another request before
	sent     bool // a connection was ready
	inBody   bool // the head of an answer came
	progress bool // part of the body came, and the rest can be requested
}

func (e *Error) Error() string {
	s := "fetch " + e.URL.String() + ": "
	class := e.Class.Error()
	if e.Err == nil {
		return s + class
	}
	if cause := e.Err.Error(); strings.Contains(cause, class) {
		return s + cause
	} else {
		return s + class + ": " + cause
	}
}

// Unwrap lets errors.Is and errors.As see the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Err}
}

// Transient reports whether the same request may well succeed later: time-outs, broken and refused
// connections, truncated bodies, names that could not be resolved for another reason than that they do not
// exist, and junk where an answer should begin on a connection that was used before: that is the rest of the
// last body, longer than it was declared.
func Transient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Class {
	case ErrTimeout, ErrTooSlow, ErrTruncated, ErrRefused, ErrUnreachable, ErrReset:
		return true
	case ErrProtocol:
		return e.reused
	case ErrDNS:
		d, ok := errors.AsType[*net.DNSError](err)
		return !ok || !d.IsNotFound
	}
	return false
}

// Broken reports whether an answer came that was none: not proper HTTP, cut short or not in its coding, or
// the connection ended before it. Where that is the server's way it will be so again, so one more request has
// to do. What broke off and can be continued is not broken.
func Broken(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.progress {
		return false
	}
	switch e.Class {
	case ErrTruncated, ErrReset, ErrProtocol, ErrCoding:
		return true
	}
	return false
}

// Unconnected reports whether there was no connection for the request: refused, unreachable, no such name, no
// TLS or certificate that can be trusted, or no response in time. That concerns every URL of an origin.
func Unconnected(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Class {
	case ErrRefused, ErrUnreachable, ErrDNS, ErrTLS:
		return true
	}
	return (e.Class == ErrTimeout) && !e.sent
}

// Silent reports whether the request was sent and no header came in time.
func Silent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Class == ErrTimeout) && e.sent && !e.inBody
}

// Unanswered makes the error of an exchange that its caller ended, because no header came in the time that
// the caller had for it.
func Unanswered(u site.URL, after time.Duration) *Error {
	return &Error{
		URL:   u,
		Class: ErrTimeout,
		Err:   &limitError{ErrTimeout, "no header", after},
		sent:  true,
	}
}

// Continues reports whether part of a body came, and the next attempt requests the rest.
func Continues(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.progress
}

// noteProgress marks an error after which the next attempt can continue the body.
func noteProgress(err error, progress bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		e.progress = progress
	}
}

// TransientStatus reports whether a status says that the same request may succeed later. What it does not
// know of the class 5xx counts as 500 (RFC 9110 §15): 520 to 530 are those of Cloudflare for a site that
// cannot be reached.
func TransientStatus(status int) bool {
	switch status {
	case 408, 425, 429:
		return true
	case 501, 505, 506, 507, 508, 510: // for good, as far as the request is concerned
		return false
	}
	return status >= 500 && status < 600
}

// RefusingStatus reports whether a status is one by which crawlers are refused.
func RefusingStatus(status int) bool {
	switch status {
	case 401, 403, 406, 418, 451:
		return true
	}
	return false
}

// classify turns what net/http, a decoder or a limit said into an Error. inBody tells an early end of the
// body, which is a truncation, from an early end of the header, which is a broken connection.
func classify(ctx context.Context, w *watch, u site.URL, err error, inBody bool) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if ctx.Err() != nil {
		return &Error{URL: u, Class: ErrCanceled, Err: context.Cause(ctx)}
	}
	e := &Error{
		URL:    u,
		Class:  classOf(err, inBody),
		Err:    err,
		inBody: inBody,
	}
	if w == nil {
		return e
	}
	e.sent, e.reused = w.sent > 0, !inBody && w.reused
	if t, ok := errors.AsType[*limitError](context.Cause(w.Context)); ok {
		e.Class, e.Err, e.reused = t.class, t, false
	}
	return e
}

func classOf(err error, inBody bool) error {
	var (
		dns     *net.DNSError
		netErr  net.Error
		record  tls.RecordHeaderError
		alert   tls.AlertError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.Is(err, ErrForbiddenAddress):
		return ErrForbiddenAddress
	case errors.As(err, &dns):
		return ErrDNS
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &verify), errors.As(err, &unknown),
		errors.As(err, &host),
		errors.As(err, &invalid):
		return ErrTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return ErrRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return ErrReset
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETDOWN),
		errors.Is(err, syscall.EHOSTDOWN), errors.Is(err, syscall.EADDRNOTAVAIL):
		return ErrUnreachable
	case errors.As(err, &netErr) && netErr.Timeout():
		return ErrTimeout
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		if inBody {
			return ErrTruncated
		}
		return ErrReset
	}
	// net/http has no types for the rest; each text below is provoked by a test, so that a new Go release that
	// words it otherwise is noticed.
	s := err.Error()
	for _, m := range messages {
		if strings.Contains(s, m.part) {
			return m.class
		}
	}
	return ErrProtocol
}

var messages = [...]struct {
	part  string
	class error
}{
	{"headers exceeded", ErrHeaderFlood},
	{"read limit of", ErrHeaderFlood},
	{"header list larger", ErrHeaderFlood},
	{"suspiciously long trailer", ErrHeaderFlood},
	{"unexpected EOF reading trailer", ErrTruncated},
	{"would exceed context deadline", ErrTimeout}, // of the bandwidth limit
	{"malformed", ErrProtocol},
	{"PROTOCOL_ERROR", ErrProtocol},
	{"COMPRESSION_ERROR", ErrProtocol},
	{"more than declared", ErrProtocol},
	{"HTTP response to HTTPS client", ErrTLS},
	{"tls: ", ErrTLS},
	{"x509: ", ErrTLS},
	{"server closed idle connection", ErrReset},
	{"client connection lost", ErrReset},
	{"client connection force closed", ErrReset},
	{"GOAWAY", ErrReset},
	{"REFUSED_STREAM", ErrReset},
	{"stream error", ErrReset},
	{"use of closed network connection", ErrReset},
	{"proxy", ErrRefused},
	{"socks", ErrRefused},
}
