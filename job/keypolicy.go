// SPDX-License-Identifier: Apache-2.0

package job

import "mirrord/evolution/policy"

func evidenceKeys() []Key {
	return []Key{
		{
			Name:    "evidence.listings",
			Type:    "true or false",
			Example: "false",
			Doc: "A directory listing of the server that shows the same time and size as before saves " +
				"the requests for its files. Some files are requested as a check; after a listing " +
				"hid a change, listings are ignored for some runs.",
			Risk: "A file that changes without its time and size is found only when its turn comes.",
		},
		{
			Name:    "evidence.sitemaps",
			Type:    "true or false",
			Example: "false",
			Doc: "A page with the same lastmod in the sitemap as before is skipped. Some pages are " +
				"requested as a check; after a sitemap hid a change, the policy adaptive believes it as far as " +
				"it has shown changes so far, and under other policies sitemaps are ignored for some " +
				"runs. Without this key sitemaps still name pages.",
			Risk: "A page whose lastmod is not maintained is found only when its turn comes.",
		},
		{
			Name:    "evidence.expiry",
			Type:    "true or false",
			Example: "true",
			Doc: "A resource with an explicit lifetime (max-age of Cache-Control, Expires) is skipped " +
				"until it ends, for at most 30 days. Some are requested as a check; after a lifetime " +
				"was wrong, lifetimes are ignored for some runs.",
			Risk: "Many sites send careless lifetimes; a change is found only after them.",
		},
	}
}

func policyKeys() []Key {
	return []Key{
		{
			Name:    "adaptive.price",
			Type:    "number",
			Unit:    "changed pages",
			Example: "0.01",
			Doc: "Cost of a request, in changed pages: a request is made when it is expected to find " +
				"at least as many changes. 0.001 requests a page as long as one of a thousand " +
				"requests finds a change; with 0 everything is requested, best first. mirrord plan JOB --price " +
				"shows what each would have come to, and mirrord tune proposes one.",
			Risk: "A high price saves requests and finds changes later.",
			max:  1,
		},
		{
			Name:    "adaptive.price_mb",
			Type:    "number",
			Unit:    "changed pages",
			Example: "0.01",
			Doc: "Cost of a megabyte that answers transfer, in changed pages, on top of price: for traffic that is " +
				"paid for or slow. An unchanged page transfers a few hundred bytes where the server answers 304, and " +
				"all of its bytes where it does not; a change has to be worth its bytes, too. With 0.01 a file of " +
				"10 MB that comes whole is requested once the chance that it has changed is about one in ten. " +
				"0: bytes cost nothing. With price = 0 it decides on the order only.",
			Risk: "Resources larger than 1 MB / price_mb are requested by limits.max_skip and " +
				"limits.max_skip_time only.",
			max: policy.MostPriceMB,
		},
		{
			Name:    "adaptive.late",
			Type:    "duration",
			Example: `"12h"`,
			Doc: "How long after the run that could have found it a change may be found, in the mean over all " +
				"changes. In a run that finds many changes the price does not rise then, and while changes were " +
				"found later than this it falls, to half at least. mirrord tune JOB --late TIME proposes it with " +
				"the price that belongs to it. 0 is no goal.",
			Risk: "It is a mean, and a goal that the price has to fit: single pages may wait for longer, up to " +
				"limits.max_skip and limits.max_skip_time. A run that finds much requests more, but " +
				"limits.max_requests wins.",
		},
		{
			Name:    "adaptive.learn_for",
			Type:    "duration",
			Example: `"7d"`,
			Doc: "How long the complete runs must span before the policy adaptive skips anything; " +
				"full_runs counts as well. Runs closer together than a tenth of the usual interval " +
				"count as one. Empty: three intervals of the schedule, at least 2d; continuous and a job " +
				"without a schedule have 2d. \"0s\": none, and every run counts.",
			Risk:  "A short time lets adaptive judge by what happened to change in a few hours.",
			check: checkLearnFor,
		},
		{
			Name:    "near.min_doc",
			Type:    "share",
			Example: "0.05",
			Doc:     "Least degree of change (DoC) that counts as a change of a directory: 0 to 1, not 0.",
		},
		{
			Name:    "near.min_foc",
			Type:    "share",
			Example: "0.1",
			Doc: "Least share of the runs in which the directories above changed; the skipped one " +
				"changed with them in fewer (FoC). Over 0, up to 1.",
			check: checkFoC,
		},
		{
			Name:    "near.min_coc",
			Type:    "share",
			Example: "0.1",
			Doc:     "Least negative correlation of their changes (CoC), 0 to 1.",
		},
		{
			Name:    "near.min_confidence",
			Type:    "share",
			Example: "0.8",
			Doc: "Least share of the changes above in which the skipped directory did not change, 0 " +
				"to 1.",
		},
		{
			Name:    "near.expire",
			Type:    "number",
			Unit:    "runs",
			Example: "4",
			Doc: "After so many runs in a row without a visit a directory has no rule. 0: " +
				"never.",
			Risk: "Rules that do not expire are corrected by audits only.",
			max:  1000,
		},
	}
}
