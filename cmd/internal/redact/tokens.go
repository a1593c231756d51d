package redact

// Tokens is the word for the known forms of tokens. KeepData is the word that keeps the bytes which system calls
// move, as far as no pattern matches what one call shows of them: a secret that a process moves in several calls
// shows.
const (
	Tokens   = "@tokens"
	KeepData = "@keep-data"
)

// tokens are the forms of the tokens that CI systems, clouds and registries give out, and of a few
// other secrets. Each has a literal that other texts hardly have. A form may be wider than the one
// in use, for the tokens of tomorrow.
var tokens = []string{
	// GitHub: personal, OAuth, user, server, refresh; fine-grained.
	`ghp_[A-Za-z0-9]{20,}`, `gho_[A-Za-z0-9]{20,}`, `ghu_[A-Za-z0-9]{20,}`, `ghs_[A-Za-z0-9]{20,}`, `ghr_[A-Za-z0-9]{20,}`,
	`github_pat_[A-Za-z0-9_]{20,}`,
	// GitLab: personal, deploy, runner, job, trigger, agent, feed, OAuth.
	`glpat-[A-Za-z0-9_.\-]{16,}`, `gldt-[A-Za-z0-9_.\-]{16,}`, `glrt-[A-Za-z0-9_.\-]{16,}`, `glcbt-[A-Za-z0-9_.\-]{16,}`,
	`glptt-[A-Za-z0-9_.\-]{16,}`, `glagent-[A-Za-z0-9_.\-]{16,}`, `glft-[A-Za-z0-9_.\-]{16,}`, `gloas-[A-Za-z0-9_.\-]{16,}`,
	// AWS: access keys; the secret ones only where they have their name.
	`AKIA[A-Z0-9]{16}`, `ASIA[A-Z0-9]{16}`,
	`(?i:secret_?access_?key)["' ]{0,4}[=:]["' ]{0,4}[A-Za-z0-9/+=]{16,}`,
	// Slack, npm, PyPI, Google.
	`xox[abeoprs]-[A-Za-z0-9\-]{10,}`, `xapp-[A-Za-z0-9\-]{10,}`, `hooks\.slack\.com/services/[A-Za-z0-9/]{20,}`,
	`npm_[A-Za-z0-9]{30,}`, `pypi-[A-Za-z0-9_\-]{16,}`,
	`AIza[A-Za-z0-9_\-]{30,}`, `ya29\.[A-Za-z0-9_.\-]{20,}`,
	// Stripe, SendGrid, Docker, DigitalOcean, Hugging Face, Anthropic and OpenAI.
	`[sr]k_live_[A-Za-z0-9]{16,}`, `SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}`,
	`dckr_pat_[A-Za-z0-9_\-]{20,}`, `do[opr]_v1_[a-f0-9]{64}`, `hf_[A-Za-z0-9]{30,}`, `sk-(?:ant|proj)-[A-Za-z0-9_\-]{20,}`,
	// JSON Web Tokens.
	`eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?`,
	// Headers, and passwords in URLs.
	`(?i:authorization)["']? ?[:=] ?["']?(?:(?i:bearer|basic|token|negotiate) )?[A-Za-z0-9_.~+/=\-]{8,}`,
	`(?i:bearer) [A-Za-z0-9_.~+/=\-]{16,}`,
	`(?i:x-api-key|private-token|job-token)["']? ?[:=] ?["']?[A-Za-z0-9_.~+/=\-]{8,}`,
	`://[^\s/:@"'<>]*:[^\s/@"'<>]+@`,
	keyPattern,
}

// keyPattern matches a private key, or what there is of it.
const keyPattern = `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`

// The same, in lines.
var (
	keyBegin = []byte("-----BEGIN ")
	keyName  = []byte("PRIVATE KEY")
	keyEnd   = []byte("-----END ")
)

// keyFrame bounds the first and the last line of a private key.
const keyFrame = 160

// keyLines bounds the lines of a private key after the first one.
const keyLines = 400
