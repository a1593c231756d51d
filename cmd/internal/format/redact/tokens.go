package redact

import (
	"regexp"
	"slices"
)

// Tokens is the word for the known forms of tokens. KeepData is the word that keeps the bytes which system calls
// move, as far as no pattern matches what one call shows of them: a secret that a process moves in several calls
// shows.
const (
	Tokens   = "@tokens"
	KeepData = "@keep-data"
)

// tokens are the forms of the tokens that CI systems, clouds, registries and other services give out, and of a
// few other secrets. Each has a literal that other texts hardly have: the form of a service whose tokens are
// bare digits is not here. A form may be wider than the one in use, for the tokens of tomorrow.
var tokens = slices.Concat(
	// GitHub: personal, OAuth, user, server, refresh; fine-grained.
	behind(`[A-Za-z0-9_]{20,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	// GitLab: personal, deploy, runner, job, trigger, agent, feed, OAuth, mail, SCIM, feature flags, workspace;
	// registration of runners, session.
	behind(`[A-Za-z0-9_.\-]{16,}`, "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glagent-", "glft-", "gloas-",
		"glimt-", "glsoat-", "glffct-", "glwt-", "GR1348941"),
	[]string{`_gitlab_session=[a-z0-9]{20,}`},
	// AWS: access keys, Bedrock; the secret ones only where they have their name.
	behind(`[A-Z0-9]{16}`, "AKIA", "ASIA", "ABIA", "ACCA"),
	[]string{
		`\bA3T[A-Z0-9]{17}\b`, `\bABSK[A-Za-z0-9+/=]{60,}`, `bedrock-api-key-[A-Za-z0-9+/=_\-]{20,}`, `amzn\.mws\.[a-f0-9\-]{30,}`,
		`(?i:secret[_\-]?access[_\-]?key)` + quotes + `[:=>,\s]{1,4}` + quotes + `(?:[A-Za-z0-9/+=%]|\\/){16,}`,
	},
	behind(`[A-Za-z0-9/+=%]{100,}`, "IQoJ", "FwoG", "FQoG"),
	// Slack.
	behind(`[A-Za-z0-9%\-]{10,}`, "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
	[]string{`xoxe\.xox[bp]-[A-Za-z0-9\-]{10,}`, `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}`},
	// Registries of packages: npm, PyPI, RubyGems, crates.io, NuGet, Clojars, Docker, Artifactory.
	[]string{
		`npm_[A-Za-z0-9]{30,}`, `_authToken` + quotes + `[= ]` + quotes + value + `{8,}`, `\b_auth` + quotes + `=` + quotes + `[A-Za-z0-9+/]{8,}={0,2}`, `:_password` + quotes + `=` + quotes + `[A-Za-z0-9+/]{8,}={0,2}`,
		`pypi-[A-Za-z0-9_\-]{16,}`, `rubygems_[a-f0-9]{40,}`, `\boy2[a-z0-9]{43}\b`, `CLOJARS_[A-Za-z0-9]{40,}`,
		`dckr_pat_[A-Za-z0-9_\-]{20,}`, `dckr_oat_[A-Za-z0-9_\-]{20,}`, `SWMTKN-1-[a-z0-9\-]{40,}`, `"auth\\*" ?: ?\\*"[A-Za-z0-9+/]{12,}={0,2}`,
		`\bAKCp[A-Za-z0-9]{60,}`, `\bcmVmd[A-Za-z0-9]{50,}`,
	},
	// Google, Azure, Alibaba, Yandex, DigitalOcean, Heroku, Fly.io, Scalingo, Netlify, Supabase, PlanetScale, Tailscale, Cloudflare.
	[]string{
		`AIza[A-Za-z0-9_\-]{30,}`, `ya29\.[A-Za-z0-9_.\-]{20,}`, `GOCSPX-[A-Za-z0-9_\-]{20,}`, `//0[A-Za-z0-9_\-]{40,}`,
		`Q~[A-Za-z0-9_~.\-]{31,}`, `(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/=%]{20,}`, `\?sig=[A-Za-z0-9+/=%]{30,}`, `&sig=[A-Za-z0-9+/=%]{30,}`,
		`\bLTAI[A-Za-z0-9]{12,}`, `\bAQVN[A-Za-z0-9_\-]{35,}`, `\bYC[A-Za-z0-9_\-]{38}\b`, `\bt1\.[A-Za-z0-9_\-]+={0,2}\.[A-Za-z0-9_\-]{60,}`,
		`do[opr]_v1_[a-f0-9]{64}`, `HRKU-[A-Za-z0-9_\-]{40,}`, `\bfo1_[A-Za-z0-9_\-]{40,}`, `\bfm1[ar]_[A-Za-z0-9+/=]{60,}`, `\bfm2_[A-Za-z0-9+/=]{60,}`,
		`\btk-us-[A-Za-z0-9_\-]{40,}`, `\bnfp_[A-Za-z0-9]{36,}`, `\bsbp_[a-f0-9]{40}`, `pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._\-]{30,}`,
		`tskey-[a-z]+-[A-Za-z0-9\-]{16,}`, `\bv1\.0-[a-f0-9]{24}-[a-f0-9]{100,}`,
	},
	// CI, code and secrets: CircleCI, Buildkite, Bitbucket and Atlassian, Sonar, Sourcegraph, Vault, Terraform, Pulumi, Doppler,
	// 1Password, age, Databricks, Harness, Octopus, OpenShift, Infracost, Prefect, Postman.
	behind(`[A-Za-z0-9_.=\-]{20,}`, "CCIPAT_", "bkua_", "squ_", "sqp_", "sqa_", "ATATT3", "ATCTT3", "ATBB", "BBDC-", "hvs.", "hvb.", "hvr.", "atlasv1.", "PMAK-"),
	[]string{
		`\bsgp_[A-Za-z0-9_]{40,}`, `\bpul-[a-f0-9]{40}`, `\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._\-]{30,}`,
		`\bA3-[A-Z0-9]{6}-[A-Z0-9\-]{20,}`, `\bops_eyJ[A-Za-z0-9+/=_\-]{40,}`, `AGE-SECRET-KEY-1[A-Z0-9]{40,}`, `\bdapi[a-f0-9]{32}`,
		`\bpat\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}`, `\bsat\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}`, `\bAPI-[A-Z0-9]{25,}\b`, `sha256~[A-Za-z0-9_\-]{40,}`,
		`\bico-[A-Za-z0-9]{32}\b`, `\bpnu_[A-Za-z0-9]{36}`,
	},
	// Models: Anthropic, OpenAI, OpenRouter, Hugging Face, Groq, xAI, Replicate, NVIDIA, Perplexity, LangSmith.
	behind(`[A-Za-z0-9_\-]{20,}`, "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-", "nvapi-", "lsv2_"),
	[]string{
		`\bsk-[A-Za-z0-9]{40,}`, `\bhf_[A-Za-z0-9]{30,}`, `\bapi_org_[A-Za-z]{30,}`, `\bgsk_[A-Za-z0-9]{40,}`, `\bxai-[A-Za-z0-9]{60,}`,
		`\br8_[A-Za-z0-9]{36,}`, `\bpplx-[A-Za-z0-9]{40,}`,
	},
	// Payments and shops: Stripe, Square, Shopify, Shippo, EasyPost, Flutterwave, Duffel.
	behind(`[A-Za-z0-9]{10,}`, "sk_live_", "rk_live_", "sk_prod_", "rk_prod_"),
	behind(`[a-fA-F0-9]{32}`, "shpat_", "shpca_", "shppa_", "shpss_", "shptka_"),
	[]string{
		`\bsk_test_[A-Za-z0-9]{16,}`, `\brk_test_[A-Za-z0-9]{16,}`, `\bwhsec_[A-Za-z0-9+/=]{24,}`, `\bsq0[a-z]{3}-[A-Za-z0-9_\-]{20,}`, `\bEAA[A-Za-z0-9_\-]{50,}`,
		`shippo_(?:live|test)_[a-fA-F0-9]{40}`, `\bEZ[AT]K[A-Za-z0-9]{54}`, `FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}`,
		`duffel_(?:live|test)_[A-Za-z0-9_=\-]{30,}`,
	},
	// Mail, chat and messages: SendGrid, Mailgun, Brevo, Twilio, Telegram, Discord, Teams.
	[]string{
		`SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}`, `\bkey-[a-f0-9]{32}\b`, `xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}`, `xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}`, `\bSK[a-fA-F0-9]{32}\b`,
		`:AA[A-Za-z0-9_\-]{33}`, `discord\.com/api/webhooks/[A-Za-z0-9/_\-]{20,}`, `discordapp\.com/api/webhooks/[A-Za-z0-9/_\-]{20,}`, `webhook\.office\.com/webhookb2/[A-Za-z0-9@/\-]{20,}`,
	},
	// Measurements, boards and other services: Grafana, New Relic, Dynatrace, Sentry, Linear, Notion, Figma, Dropbox, Adobe, Mapbox, Typeform,
	// ReadMe, Frame.io, Contentful, Defined Networking, SettleMint, 42.
	[]string{
		`\bglc_[A-Za-z0-9+/=_]{32,}`, `\bglsa_[A-Za-z0-9+/=_]{32,}`, `\beyJrIjoi[A-Za-z0-9]{40,}`, `\bNR(?:AK|II|JS|AL)-[A-Za-z0-9\-]{16,}`, `\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{40,}`,
		`\bsntry[su]_[A-Za-z0-9+/=_]{40,}`, `\blin_(?:api|oauth)_[A-Za-z0-9]{32,}`, `\bntn_[A-Za-z0-9]{30,}`, `\bsecret_[A-Za-z0-9]{43}\b`, `\bfigd_[A-Za-z0-9_\-]{30,}`,
		`\bsl\.[A-Za-z0-9_=.\-]{100,}`, `\bp8e-[A-Za-z0-9]{32}`, `\btfp_[A-Za-z0-9_.=\-]{40,}`,
		`\brdme_[a-z0-9]{60,}`, `\bfio-u-[A-Za-z0-9_=\-]{40,}`, `CFPAT-[A-Za-z0-9_\-]{30,}`, `\bdnkey-[A-Za-z0-9_=\-]{40,}`, `\bsm_[aps]at_[A-Za-z0-9]{16,}`,
		`\bs-s4t2(?:ud|af)-[a-f0-9]{40,}`,
	},
	behind(`[A-Za-z0-9_.\-]{40,}`, "pk.eyJ", "sk.eyJ", "tk.eyJ"),
	// JSON Web Tokens.
	[]string{`eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?`},
	// Headers, and the same in JSON, in the dumps of programs and in the parameters of a URL; passwords in URLs.
	[]string{
		`(?i:authorization)` + quotes + `[:=,]` + quotes + `(?:(?i:bearer|basic|token|negotiate|digest|apikey|aws4-hmac-sha256)[ +])?` + value + `{8,}`,
		`(?i:bearer)(?: |%20)` + value + `{16,}`,
		`(?i:x-api-key|private-token|job-token|deploy-token|x-vault-token|x-auth-token)` + quotes + `[:=,]` + quotes + value + `{8,}`,
		`(?i:private_token|access_token|refresh_token|job_token|client_secret)` + quotes + `[:=,]` + quotes + value + `{8,}`,
		`://` + password, `:\\/\\/` + password,
	},
	[]string{keyPattern},
)

// behind returns the patterns of what is behind each of some texts.
func behind(rest string, texts ...string) (list []string) {
	for _, text := range texts {
		list = append(list, regexp.QuoteMeta(text)+rest)
	}
	return list
}

const (
	// quotes matches what may surround a name or a value: quotes, also of JSON in JSON, and space.
	quotes = `[\\"'\[ ]{0,12}`
	// value matches a character of a value in a header.
	value = `[A-Za-z0-9_.~+/=%\-]`
	// password matches user and password of a URL behind "://", up to the last "@" of the word: both have
	// any characters. Digits up to a slash are the number of a port.
	password = `[^\s/:@"'<>\[]*:(?:[0-9]*[^\s/?#0-9"'<>][^\s"'<>]*|[0-9]+|/[^\s"'<>]*)@`
	// keyPattern matches a private key, or what there is of it.
	keyPattern = `-----BEGIN [A-Za-z0-9 _\-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Za-z0-9 _\-]{0,100}PRIVATE KEY(?: BLOCK)?-----|\z)`
)

// The first and the last line of a private key.
var (
	keyBegin = []byte("-----BEGIN ")
	keyName  = []byte("PRIVATE KEY")
	keyEnd   = []byte("-----END ")
)

// keyFrame bounds the first and the last line of a private key.
const keyFrame = 160

// keyLines bounds the lines of a private key after the first one.
const keyLines = 400
