// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"os"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
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
func CheckNotify(a *env.App, o NotifyOptions) error {
	_, err := Transport(a, o)
	return err
}

// Transport says how messages leave this machine.
func Transport(a *env.App, n NotifyOptions) (o notify.Options, err error) {
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
		return o, env.Usagef("%w", err)
	}
	o.Mail.From = n.From
	o.Mail.Password, _ = a.LookupEnv("MIRRORD_SMTP_PASSWORD")
	return o, nil
}

// NotifyTest sends a test to everybody whom a job names, from this process, and returns how each went.
func NotifyTest(
	ctx context.Context, a *env.App, name string, n NotifyOptions,
) ([]control.Told, error) {
	j, err := a.FindJob(name)
	if err != nil {
		return nil, err
	}
	s, err := look.JobStatus(a, name, a.Clock())
	if err != nil {
		return nil, err
	}
	o, err := Transport(a, n)
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
		names = st.PublicNames
	}
	o.Transport = jobs.Webhooks(a, names)
	return jobs.ToldOf(notify.New(o).Test(ctx, j, s)), nil
}
