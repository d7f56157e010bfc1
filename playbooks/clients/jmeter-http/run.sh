# Arguments: a directory to write to, the file for the log, seconds to warm up and to measure, further options of JMeter.
set -eu
directory=$1 output=$2 warm=$3 measure=$4
shift 4
jmeter -n -t http.jmx -j "$directory/jmeter.log" -l "$directory/all.jtl" "-Jseconds=$((warm + measure))" "$@" >&2
# The first line names the columns; the first column is the start of a call in milliseconds.
awk -F , -v warm="$warm" 'NR == 1 {print; next} NR == 2 {begin = $1} $1 >= begin + 1000 * warm' "$directory/all.jtl" > "$output"
