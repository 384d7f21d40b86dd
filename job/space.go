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
		Risk:  "Whoever may read a space may read all of its mirrors, also pages that needed a login.",
		field: func(j *Job) any { return &j.Space },
		check: checkSpace,
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
