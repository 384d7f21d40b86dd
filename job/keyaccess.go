// SPDX-License-Identifier: Apache-2.0

package job

func accessKeys() []Key {
	return []Key{
		{
			Name:    "auth.user",
			Type:    "text",
			Example: `"mirror"`,
			Doc:     "User for HTTP basic authentication; sent only to the origins of url.",
			field:   func(j *Job) any { return &j.Auth.User },
			check:   checkUser,
		},
		{
			Name:    "auth.password_file",
			Type:    "path",
			Example: `"/etc/mirrord/example.password"`,
			Doc:     "File that holds the password.",
			Risk:    "Must be readable by mirrord only.",
			field:   func(j *Job) any { return &j.Auth.PasswordFile },
			check:   checkPassword,
		},
		{
			Name:    "auth.password_env",
			Type:    "name",
			Example: `"EXAMPLE_PASSWORD"`,
			Doc:     "Environment variable that holds the password.",
			field:   func(j *Job) any { return &j.Auth.PasswordEnv },
			check:   func(j *Job) error { return checkEnv(j.Auth.PasswordEnv) },
		},
		{
			Name:    "auth.cookies_file",
			Type:    "path",
			Example: `"/etc/mirrord/example.cookies"`,
			Doc:     "Cookies to start with, in the Netscape format that browsers and curl export.",
			Risk:    "A session cookie is a password.",
			field:   func(j *Job) any { return &j.Auth.CookiesFile },
		},
		{
			Name:    "auth.cookies",
			Type:    "true or false",
			Example: "true",
			Doc: "Keep cookies of the site until the end of the run. A URL that redirects to itself " +
				"or in a circle and sets a cookie is requested once more with it: session and " +
				"consent walls. Each run first requests an entry point of each host, and what it redirects to, " +
				"for its cookies.",
			Risk:  "A site may show other pages to a client that it recognises.",
			field: func(j *Job) any { return &j.Auth.Cookies },
		},
		{
			Name:    "auth.headers",
			Type:    "table of text, { env = … } or { file = … }",
			Example: `{ "X-Mirror" = "yes", "Authorization" = { env = "EXAMPLE_TOKEN" } }`,
			Doc: "Request headers, sent only to the origins of url. Credentials come from a file or " +
				"the environment.",
			field: func(j *Job) any { return &j.Auth.Headers },
			check: checkHeaders,
		},
		{
			Name:    "auth.proxy_user",
			Type:    "text",
			Example: `"mirror"`,
			Doc:     "User for the proxy.",
			field:   func(j *Job) any { return &j.Auth.ProxyUser },
			check:   checkProxyUser,
		},
		{
			Name:    "auth.proxy_password_file",
			Type:    "path",
			Example: `"/etc/mirrord/proxy.password"`,
			Doc:     "File that holds the proxy's password.",
			field:   func(j *Job) any { return &j.Auth.ProxyPasswordFile },
		},
		{
			Name:    "auth.proxy_password_env",
			Type:    "name",
			Example: `"PROXY_PASSWORD"`,
			Doc:     "Environment variable that holds the proxy's password.",
			field:   func(j *Job) any { return &j.Auth.ProxyPasswordEnv },
			check:   func(j *Job) error { return checkEnv(j.Auth.ProxyPasswordEnv) },
		},
		{
			Name:    "tls.ca_file",
			Type:    "path",
			Example: `"/etc/mirrord/ca.pem"`,
			Doc:     "PEM file of certificate authorities to trust besides those of the machine.",
			field:   func(j *Job) any { return &j.TLS.CAFile },
		},
		{
			Name:    "tls.insecure",
			Type:    "true or false",
			Example: "true",
			Doc:     "Accept any certificate.",
			Risk:    "Anybody on the network path can then write into the mirror; use ca_file.",
			field:   func(j *Job) any { return &j.TLS.Insecure },
		},
	}
}

func resultKeys() []Key {
	return []Key{
		{
			Name:    "publish.keep",
			Type:    "keep rule",
			Example: `"within 90d, yearly 5"`,
			Doc: "Which versions stay: all, a number, or terms such as last 7, within 90d, daily 14, " +
				"weekly 8, monthly 24, yearly 10. The current version always stays. The rule is " +
				"applied after each publication, by the days and weeks of timezone; mirrord gc " +
				"applies it too and frees the space.",
			Risk:  "A dropped version cannot be restored.",
			field: func(j *Job) any { return &j.Publish.Keep },
			check: func(j *Job) error { _, err := ParseKeep(j.Publish.Keep); return err },
		},
		{
			Name:    "publish.dir",
			Type:    "path",
			Example: `"/srv/www/samba"`,
			Doc: "An absolute path of a symbolic link to the current version, for a web server. " +
				"Anything else at that path is left alone.",
			field: func(j *Job) any { return &j.Publish.Dir },
			check: checkPublishDir,
		},
		{
			Name:    "publish.grace",
			Type:    "duration",
			Example: `"6h"`,
			Doc: "For how long the tree of a version stays as it is after the next version was published, so " +
				"that whoever reads or copies it reads one version: see trees/N and versions/N beside current. " +
				"0s is none: the next but one version is made in it.",
			Risk: "When a version comes every few minutes, a run of the schedule waits for a tree, for at most " +
				"a tenth of the time between two runs, and then uses the oldest one all the same.",
			field: func(j *Job) any { return &j.Publish.Grace },
			check: checkGrace,
		},
		{
			Name:    "publish.trees",
			Type:    "number",
			Unit:    "trees",
			Example: "2",
			Doc: "How many trees of versions there are at most, the published one included. Their files are " +
				"links to one another, as far as they are the same. New ones are made while all are in their " +
				"grace; more than these go after it.",
			Risk: "With 1 or 2 there is a single tree beside the published one: a copy that takes longer than " +
				"two versions in publish.grace must begin again.",
			min:   1,
			max:   100,
			field: func(j *Job) any { return &j.Publish.Trees },
		},
	}
}
