package redact

import (
	"regexp"
	"sync"
)

// shape is how the keys of one kind look.
type shape struct {
	kind string
	// hint stands in each key of the kind, at most before bytes behind its begin.
	hint   string
	before int
	key    *regexp.Regexp // matches at the begin of a text
}

const awsSecret = `(?i:aws_?secret_?(?:access_?)?key)\\?["']?\s{0,4}(?:=>|=|:)\s{0,4}\\?["']?[A-Za-z0-9/+]{40}\b=?`

// shapes returns the known shapes. Where one begins as another does, the longer is first.
var shapes = sync.OnceValue(makeShapes)

func makeShapes() []shape {
	of := func(kind, hint, key string) shape {
		return shape{kind: kind, hint: hint, key: regexp.MustCompile(`^` + key)}
	}
	// after is of for a hint behind something that is no longer than longest.
	after := func(longest, kind, hint, key string) shape {
		s := of(kind, hint, key)
		s.before = len(longest)
		return s
	}
	return []shape{
		after("-----BEGIN ENCRYPTED EC ", "private key", "PRIVATE KEY", `-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?s:.{40,}?)(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\z)`),
		of("Anthropic key", "sk-ant-", `sk-ant-[A-Za-z0-9_-]{20,}`),
		of("OpenRouter key", "sk-or-", `sk-or-[A-Za-z0-9-]{30,}`),
		of("OpenAI key", "sk-", `sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{40,})`),
		of("AWS access key", "AKIA", `AKIA[A-Z2-7]{16}\b`),
		of("AWS access key", "ASIA", `ASIA[A-Z2-7]{16}\b`),
		after("aws_s", "AWS secret key", "ecret", awsSecret),
		after("AWS_S", "AWS secret key", "ECRET", awsSecret),
		of("GitHub token", "github_pat_", `github_pat_[A-Za-z0-9_]{60,}`),
		of("GitHub token", "gh", `gh[pousr]_[A-Za-z0-9]{36,}`),
		of("GitLab token", "gl", `gl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_-]{20,}`),
		of("Slack token", "xox", `xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}`),
		of("Slack token", "xapp-", `xapp-[0-9]-[A-Za-z0-9-]{20,}`),
		of("Slack webhook", "hooks.slack.com", `hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/+_-]{20,}`),
		of("Google key", "AIza", `AIza[A-Za-z0-9_-]{35}`),
		of("Google token", "ya29.", `ya29\.[A-Za-z0-9_-]{20,}`),
		of("Google client secret", "GOCSPX-", `GOCSPX-[A-Za-z0-9_-]{28}`),
		after("sk", "Stripe key", "_live_", `(?:sk|rk|pk)_live_[A-Za-z0-9]{16,}`),
		after("sk", "Stripe key", "_test_", `(?:sk|rk)_test_[A-Za-z0-9]{16,}`),
		of("Stripe webhook secret", "whsec_", `whsec_[A-Za-z0-9+/=]{24,}`),
		of("npm token", "npm_", `npm_[A-Za-z0-9]{36}`),
		of("PyPI token", "pypi-", `pypi-[A-Za-z0-9_-]{50,}`),
		of("crates.io token", "cio", `cio[A-Za-z0-9]{32}\b`),
		of("SendGrid key", "SG.", `SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`),
		of("Hugging Face token", "hf_", `hf_[A-Za-z0-9]{30,}`),
		of("DigitalOcean token", "do", `do[opr]_v1_[a-f0-9]{64}`),
		of("Databricks token", "dapi", `dapi[a-f0-9]{32}`),
		of("Shopify token", "shp", `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`),
		of("Linear key", "lin_api_", `lin_api_[A-Za-z0-9]{32,}`),
		of("Notion token", "ntn_", `ntn_[A-Za-z0-9]{40,}`),
		of("Groq key", "gsk_", `gsk_[A-Za-z0-9]{40,}`),
		of("xAI key", "xai-", `xai-[A-Za-z0-9]{60,}`),
		of("Azure storage key", "AccountKey=", `AccountKey=[A-Za-z0-9+/]{80,}={0,2}`),
		of("Docker token", "dckr_", `dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`),
		of("Vault token", "hvs.", `hv[sb]\.[A-Za-z0-9_-]{24,}`),
		of("age key", "AGE-SECRET-KEY-", `AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`),
		of("JSON web token", "eyJ", `eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
		after("postgresql+asyncpgxxx", "password in a URL", "://", `[a-z][a-z0-9+.-]{1,20}://[^\s:/?#\[\]@"'<>]{1,100}:[^\s:/?#\[\]@"'<>$*]{6,200}@`),
	}
}
