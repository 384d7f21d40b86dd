// SPDX-License-Identifier: Apache-2.0

package job

import "strings"

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
