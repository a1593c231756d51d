eval "$(ptrace-event --shell="$1")"
inner() {
	pt_step inner sleep 0.01
	pt_step empty :
}
for i in 1 2 3 4; do
	pt_step compile inner "$i" &
done
wait
pt_step outer inner
pt_step first pt_step second pt_step third :
