package otlp

import (
	"net/url"
	"strings"
)

// variable is an attribute whose value is that of the first variable that is set.
type variable struct {
	key   string
	names []string
}

// variables are those of CI systems: GitHub Actions and its relatives, GitLab, Jenkins.
var variables = []variable{
	{"cicd.pipeline.name", []string{"GITHUB_WORKFLOW", "CI_PIPELINE_NAME", "CI_PROJECT_PATH", "JOB_NAME"}},
	{"cicd.pipeline.run.id", []string{"GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_ID"}},
	{"cicd.pipeline.run.url.full", []string{"CI_PIPELINE_URL", "BUILD_URL"}},
	{"cicd.pipeline.task.name", []string{"GITHUB_JOB", "CI_JOB_NAME", "STAGE_NAME"}},
	{"cicd.pipeline.task.run.id", []string{"CI_JOB_ID"}},
	{"cicd.pipeline.task.run.url.full", []string{"CI_JOB_URL"}},
	{"cicd.worker.name", []string{"RUNNER_NAME", "CI_RUNNER_DESCRIPTION", "NODE_NAME"}},
	{"vcs.ref.head.name", []string{"GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH"}},
	{"vcs.ref.head.revision", []string{"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"}},
	{"vcs.ref.head.type", []string{"GITHUB_REF_TYPE"}},
	{"vcs.repository.name", []string{"CI_PROJECT_NAME"}},
	{"vcs.owner.name", []string{"CI_PROJECT_NAMESPACE"}},
	{"vcs.repository.url.full", []string{"CI_PROJECT_URL", "GIT_URL"}},
}

// Environment returns the attributes that environment variables have: those of the exporters of
// OpenTelemetry and, if the log is of here, those of CI systems, which describe this job.
func Environment(getenv func(string) string, here bool) (list []Attribute, malformed bool) {
	set := func(key, value string) {
		for i := range list {
			if list[i].Key == key {
				list[i].Value = value
				return
			}
		}
		list = append(list, Attribute{key, value})
	}
	if here {
		ci(getenv, set)
	}
	for pair := range strings.SplitSeq(getenv("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		pair = strings.TrimSpace(pair)
		key, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		switch key = strings.TrimSpace(key); {
		case pair == "":
		case !ok || key == "" || err != nil:
			malformed = true
		default:
			set(key, value)
		}
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		set("service.name", name)
	}
	return list, malformed
}

func ci(getenv func(string) string, set func(key, value string)) {
	if getenv("CI") == "" && getenv("GITHUB_ACTIONS") == "" && getenv("JENKINS_URL") == "" {
		return
	}
	for _, v := range variables {
		for _, name := range v.names {
			if value := getenv(name); value != "" {
				set(v.key, withoutPassword(value))
				break
			}
		}
	}
	if owner, name, ok := strings.Cut(getenv("GITHUB_REPOSITORY"), "/"); ok {
		set("vcs.owner.name", owner)
		set("vcs.repository.name", name)
	}
	if server, repository := getenv("GITHUB_SERVER_URL"), getenv("GITHUB_REPOSITORY"); server != "" && repository != "" {
		set("vcs.repository.url.full", withoutPassword(server+"/"+repository))
		if run := getenv("GITHUB_RUN_ID"); run != "" {
			set("cicd.pipeline.run.url.full", withoutPassword(server+"/"+repository+"/actions/runs/"+run))
		}
	}
}

// withoutPassword removes the user and the password of a URL: jobs clone with tokens.
func withoutPassword(value string) string {
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok {
		return value
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + path
}
