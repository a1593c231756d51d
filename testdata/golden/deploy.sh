# A deployment in small, as an example of a script whose trace is kept as a golden
# file: deploy.golden and deploy.golden.json are what ptrace-dump --golden makes of
#
#	ptrace-run -o deploy.trace -- sh deploy.sh
#	ptrace-dump --golden -e @user deploy.trace
#
# each time it runs, whatever the machine, the moment and the process ids. Only what the
# script does one after the other is in it: when a line of output is seen is not
# its doing.
ptrace-event deploy.begin "rev=4f1c9e2"

ptrace-event --run fetch echo "fetching 3 files"

ptrace-event migrate.begin
for table in users orders; do
	ptrace-event migrate.table "$table"
	echo "migrated $table"
done
ptrace-event migrate.end "2 tables"

# A step that fails is an event like any other.
ptrace-event --run smoke-test sh -c 'echo "GET / 503" >&2; exit 3'
ptrace-event rollback "status=$?"

# A process of its own has a number of its own.
sh -c 'ptrace-event worker.ready; echo "worker says hello"' | tr '[:lower:]' '[:upper:]'

printf '\033[32mdone\033[0m\n'
ptrace-event deploy.end
exit 3
