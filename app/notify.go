// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"

	"mirrord/fetch"
	"mirrord/internal/regular"
	"mirrord/scheduler/control"
	"mirrord/scheduler/notify"
)

// NotifyOptions say how messages leave this machine.
type NotifyOptions struct {
	// path of a sendmail, or smtp://[USER@]HOST[:PORT]; "" is sendmail if there is one, else smtp://localhost
	Mail string
	From string // address that mail comes from; "" is mirrord@HOST
	Host string // name of this machine in messages; "" is its host name
}

// CheckNotify finds fault with the options.
func CheckNotify(a *App, o NotifyOptions) error {
	_, err := notifyOptions(a, o)
	return err
}

// notifyOptions says how messages leave this machine.
func notifyOptions(a *App, n NotifyOptions) (o notify.Options, err error) {
	o = notify.Options{
		Host:      n.Host,
		LookupEnv: a.LookupEnv,
		ReadFile:  regular.ReadSmall,
		Log:       a.Log,
	}
	if o.Host == "" {
		if o.Host, err = os.Hostname(); err != nil {
			return o, err
		}
	}
	mail := n.Mail
	if mail == "" {
		mail = "smtp://localhost"
		if _, err := os.Stat("/usr/sbin/sendmail"); err == nil {
			mail = "/usr/sbin/sendmail"
		}
	}
	if o.Mail, err = notify.ParseMail(mail); err != nil {
		return o, &Error{Kind: Usage, Err: err}
	}
	o.Mail.From = n.From
	o.Mail.Password, _ = a.LookupEnv("MIRRORD_SMTP_PASSWORD")
	return o, nil
}

// NotifyTest sends a test to everybody whom a job names, from this process, and returns how each went.
func NotifyTest(ctx context.Context, a *App, name string, n NotifyOptions) ([]control.Told, error) {
	j, err := a.FindJob(name)
	if err != nil {
		return nil, err
	}
	s, err := JobStatus(a, name, a.now())
	if err != nil {
		return nil, err
	}
	o, err := notifyOptions(a, n)
	if err != nil {
		return nil, err
	}
	st, ok, err := a.OpenState()
	if err != nil {
		return nil, err
	}
	var names fetch.Names
	if ok {
		defer st.Close()
		names = st.PublicNames()
	}
	o.Transport = Webhooks(a, names)
	return toldOf(notify.New(o).Test(ctx, j, s)), nil
}

// Mail sends one message to an address, as messages of jobs leave this machine.
func (d *Daemon) Mail(ctx context.Context, to, subject, text string) error {
	return d.tell.Write(ctx, to, subject, text)
}
