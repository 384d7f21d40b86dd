// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/url"
	"strings"
	"time"

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
	Server  string // else host:port of a mail server
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
	m := Mail{TLS: u.Scheme == "smtps", User: u.User.Username()}
	port := u.Port()
	switch {
	case port != "":
	case m.TLS:
		port = "465"
	case m.User != "":
		port = "587"
	default:
		port = "25"
	}
	m.Server = net.JoinHostPort(u.Hostname(), port)
	return m, nil
}

func (m Mail) from(host string) string {
	if m.From != "" {
		return m.From
	}
	return "mirrord@" + host
}

// compose writes a message (RFC 5322). Nothing in it can add a header: the subject is one line, and the text
// is encoded.
func (m Mail) compose(host, to string, msg status.Message) ([]byte, error) {
	id := make([]byte, 12)
	rand.Read(id) // never fails
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: mirrord <%s>\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\nMessage-ID: <%s@%s>\r\n",
		m.from(host), to, mime.QEncoding.Encode("utf-8", msg.Subject), msg.Time.Format(time.RFC1123Z),
		hex.EncodeToString(id), host)
	b.WriteString("Auto-Submitted: auto-generated\r\nX-Mirrord-Event: " + string(msg.Kind) + "\r\n")
	if msg.Job.Name != "" { // an order has none
		b.WriteString("X-Mirrord-Job: " + msg.Job.Name + "\r\n")
	}
	b.WriteString(
		"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: " +
			"quoted-printable\r\n\r\n")
	q := quotedprintable.NewWriter(&b)
	if _, err := q.Write([]byte(strings.ReplaceAll(msg.Text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	return b.Bytes(), q.Close()
}

func (m Mail) send(ctx context.Context, o Options, to string, msg status.Message) error {
	data, err := m.compose(o.Host, to, msg)
	switch {
	case err != nil:
		return err
	case m.Program != "":
		return m.pipe(ctx, o, to, data)
	case m.Server != "":
		return m.smtp(ctx, o, to, data)
	}
	return errors.New(
		"mail cannot leave this machine: there is no /usr/sbin/sendmail, and daemon.toml has no mail.via")
}

func (m Mail) pipe(ctx context.Context, o Options, to string, data []byte) error {
	child := Child{
		Args:      []string{m.Program, "-i", "-f", m.from(o.Host), "--", to},
		In:        bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")),
		LookupEnv: o.LookupEnv,
	}
	if text, err := child.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w: %s", m.Program, err, text)
	}
	return nil
}

func (m Mail) smtp(ctx context.Context, o Options, to string, data []byte) (err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	raw := conn
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	host, _, err := net.SplitHostPort(m.Server)
	if err != nil {
		return err
	}
	if m.TLS {
		conn = tls.Client(conn, &tls.Config{ServerName: host})
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Hello(o.Host); err != nil {
		return err
	}
	ip := net.ParseIP(host)
	here := host == "localhost" || (ip != nil && ip.IsLoopback())
	if ok, _ := c.Extension("STARTTLS"); ok && !m.TLS && !here {
		if err := c.StartTLS(&tls.Config{ServerName: host}); err != nil {
			return err
		}
	}
	if m.User != "" {
		if err := c.Auth(smtp.PlainAuth("", m.User, m.Password, host)); err != nil { // refuses to go in the clear
			return err
		}
	}
	if err := c.Mail(m.from(o.Host)); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.Quit() // the message is theirs now
	return nil
}
