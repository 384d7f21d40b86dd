// SPDX-License-Identifier: Apache-2.0

package job

import "strings"

func spaceKey() Key {
	return Key{
		Name:    "space",
		Type:    "name",
		Example: `"library"`,
		Doc: "The space of the mirror. In a space, links from one mirror to what another one holds lead to that " +
			"copy: see spaces/NAME/files in the state directory. All jobs with the same name form one. Empty: " +
			"none.",
		Risk:  "Users who may read a space may read all of its mirrors, also pages that needed a login.",
		check: checkSpace,
	}
}

func fetchOnceKey() Key {
	return Key{
		Name:    "fetch_once",
		Type:    "duration",
		Example: `"6h"`,
		Doc: "In a space: how long ago another mirror may have fetched a resource that is taken from it and not " +
			"requested again. It must be newer than the own one, and within the lifetime that the site gave. " +
			"\"0s\": all is requested. Entry points, sitemaps and listings always are, and so is what either " +
			"job may be shown otherwise: with credentials, cookies or headers of its own, another proxy, tls or " +
			"allow_private.",
		Risk: "A page may be older than the run by that much, but not than the last look of either mirror.",
	}
}

func checkSpace(j *Job) error {
	switch {
	case j.Space == "":
		return nil
	case !ValidName(j.Space) || strings.HasSuffix(j.Space, "."):
		return problemf("a space is named as a job is: a-z, 0-9, '.', '_' and '-'", "%q cannot name a space",
			j.Space)
	case strings.HasSuffix(j.Name, "."):
		return problemf("rename the job",
			"a mirror whose name ends in a dot cannot be in a space: Windows drops the dot")
	}
	return nil
}
