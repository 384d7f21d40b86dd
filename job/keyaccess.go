// SPDX-License-Identifier: Apache-2.0

package job

func accessKeys() []Key {
	return []Key{
		{
			Name:    "auth.user",
			Type:    "text",
			Example: `"mirror"`,
			Doc:     "User for HTTP basic authentication; sent only to the origins of url.",
			check:   checkUser,
		},
		{
			Name:    "auth.password",
			Type:    "text",
			Example: `"${EXAMPLE_PASSWORD}"`,
			Doc:     "The environment variable that holds the password, as ${NAME}.",
			field:   func(j *Job) any { return (*envName)(&j.Auth.Password.Env) },
			check:   func(j *Job) error { return checkEnv(j.Auth.Password.Env) },
		},
		{
			Name:    "auth.password_file",
			Type:    "path",
			Example: `"/etc/mirrord/example.password"`,
			Doc:     "File that holds the password.",
			Risk:    "Must be readable by mirrord only.",
			field:   func(j *Job) any { return &j.Auth.Password.File },
			check:   checkPassword,
		},
		{
			Name:    "auth.cookies_file",
			Type:    "path",
			Example: `"/etc/mirrord/example.cookies"`,
			Doc:     "Cookies to start with, in the Netscape format that browsers and curl export.",
			Risk:    "A session cookie is a password.",
		},
		{
			Name:    "auth.cookies",
			Type:    "true or false",
			Example: "true",
			Doc: "Keep cookies of the site until the end of the run. A URL that redirects to itself " +
				"or in a circle and sets a cookie is requested once more with it: session and " +
				"consent walls. Each run first requests an entry point of each host, and what it redirects to, " +
				"for its cookies.",
			Risk: "A site may show other pages to a client that it recognises.",
		},
		{
			Name:    "auth.headers",
			Type:    "table of text, \"${NAME}\", { env = … } or { file = … }",
			Example: `{ "X-Mirror" = "yes", "Authorization" = "${EXAMPLE_TOKEN}" }`,
			Doc: "Request headers, sent only to the origins of url. Credentials, such as Authorization, come " +
				"from a file or the environment.",
			check: checkHeaders,
		},
		{
			Name:    "auth.proxy_password_file",
			Type:    "path",
			Example: `"/etc/mirrord/proxy.password"`,
			Doc:     "File that holds the password of the user in proxy.",
			field:   func(j *Job) any { return &j.Auth.ProxyPassword.File },
		},
		{
			Name:    "tls.ca_file",
			Type:    "path",
			Example: `"/etc/mirrord/ca.pem"`,
			Doc:     "PEM file of certificate authorities to trust besides those of the machine.",
		},
		{
			Name:    "tls.insecure",
			Type:    "true or false",
			Example: "true",
			Doc:     "Accept any certificate.",
			Risk:    "Anybody on the network path can then write into the mirror; use ca_file.",
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
			check: func(j *Job) error { _, err := ParseKeep(j.Publish.Keep); return err },
		},
		{
			Name:    "publish.dir",
			Type:    "path",
			Example: `"/srv/www/samba"`,
			Doc: "An absolute path of a symbolic link to the current version, for a web server. " +
				"Anything else at that path is left alone.",
			check: checkPublishDir,
		},
	}
}
