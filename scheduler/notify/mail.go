// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// byMail writes to each address of notify.email.
func (n *Notifier) byMail(j *job.Job) (out []receiver) {
	for _, to := range j.Notify.Email {
		out = append(out, receiver{
			name:  "mail to " + to,
			key:   "mail " + to,
			again: true,
			send:  func(ctx context.Context, m status.Message) error { return n.send(ctx, to, m) },
		})
	}
	return out
}

func (n *Notifier) send(ctx context.Context, to string, m status.Message) error {
	o, by := n.Options, n.mail.Load()
	o.Host = by.host
	return by.mail.send(ctx, o, to, m)
}

// Mail is how mail leaves the machine.
type Mail struct {
	Program string // a sendmail: gets addresses as arguments and the message on standard input
	Host    string // else a mail server
	Port    int
	// speak TLS from the start; otherwise it is used when the server, unless it is this machine, offers it
	TLS      bool
	User     string
	Password string
	From     string // default mirrord@HOST
}

// ParseMail reads how mail leaves the machine: the path of a sendmail, smtp://[USER@]HOST[:PORT] or
// smtps://….
func ParseMail(s string) (Mail, error) {
	if strings.HasPrefix(s, "/") {
		return Mail{Program: s}, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || (u.Scheme != "smtp" && u.Scheme != "smtps") ||
		strings.Trim(u.Path, "/") != "" {
		return Mail{}, fmt.Errorf("mail %q: neither the path of a sendmail nor smtp://[USER@]HOST[:PORT]", s)
	}
	if _, has := u.User.Password(); has {
		return Mail{},
			errors.New("mail: the password does not belong on the command line: set MIRRORD_SMTP_PASSWORD")
	}
	m := Mail{Host: u.Hostname(), TLS: u.Scheme == "smtps", User: u.User.Username()}
	switch {
	case u.Port() != "":
		m.Port, err = strconv.Atoi(u.Port())
	case m.TLS:
		m.Port = 465
	case m.User != "":
		m.Port = 587
	default:
		m.Port = 25
	}
	return m, err
}

func (m Mail) from(host string) string {
	if m.From != "" {
		return m.From
	}
	return "mirrord@" + host
}

// compose makes a message (RFC 5322). Nothing in it can add a header: the library encodes them, and the text.
func (m Mail) compose(host, to string, msg status.Message) (*mail.Msg, error) {
	out := mail.NewMsg(mail.WithNoDefaultUserAgent())
	out.SetMessageIDWithValue(rand.Text() + "@" + host)
	out.Subject(msg.Subject)
	out.SetDateWithValue(msg.Time)
	out.SetGenHeader("Auto-Submitted", "auto-generated")
	out.SetGenHeader("X-Mirrord-Event", string(msg.Kind))
	if msg.Job.Name != "" { // an order has none
		out.SetGenHeader("X-Mirrord-Job", msg.Job.Name)
	}
	out.SetBodyString(mail.TypeTextPlain, msg.Text)
	return out, errors.Join(out.FromFormat("mirrord", m.from(host)), out.To(to))
}

func (m Mail) send(ctx context.Context, o Options, to string, msg status.Message) error {
	out, err := m.compose(o.Host, to, msg)
	switch {
	case err != nil:
		return err
	case m.Program != "":
		return m.pipe(ctx, o, to, out)
	case m.Host != "":
		return m.smtp(ctx, o, out)
	}
	return errors.New(
		"mail cannot leave this machine: there is no /usr/sbin/sendmail, and daemon.toml has no mail.via")
}

func (m Mail) pipe(ctx context.Context, o Options, to string, out *mail.Msg) error {
	var data bytes.Buffer
	if _, err := out.WriteTo(&data); err != nil {
		return err
	}
	child := Child{
		Args:      []string{m.Program, "-i", "-f", m.from(o.Host), "--", to},
		In:        bytes.ReplaceAll(data.Bytes(), []byte("\r\n"), []byte("\n")),
		LookupEnv: o.LookupEnv,
	}
	if text, err := child.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w: %s", m.Program, err, text)
	}
	return nil
}

func (m Mail) smtp(ctx context.Context, o Options, out *mail.Msg) error {
	with := []mail.Option{
		mail.WithPort(m.Port),
		mail.WithHELO(o.Host),
		mail.WithTLSPolicy(mail.TLSOpportunistic),
		mail.WithoutNoop(),
		mail.WithoutRset(),
		mail.WithTimeout(o.Timeout),
	}
	ip := net.ParseIP(m.Host)
	if m.Host == "localhost" || (ip != nil && ip.IsLoopback()) {
		with = append(with, mail.WithTLSPolicy(mail.NoTLS))
	}
	if m.TLS {
		with = append(with, mail.WithSSL())
	}
	if m.User != "" { // the library refuses to send it in the clear
		with = append(with, mail.WithSMTPAuth(mail.SMTPAuthPlain), mail.WithUsername(m.User),
			mail.WithPassword(m.Password))
	}
	c, err := mail.NewClient(m.Host, with...)
	if err != nil {
		return err
	}
	if err := c.DialWithContext(ctx); err != nil {
		return err
	}
	defer c.Close() // an error does not matter: the message is theirs by then
	return c.Send(out)
}
