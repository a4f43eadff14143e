# krmfn prelude v1: makes MODELPLANE_RANK a number, then becomes the command; see docs/contract.md of krmfn
_krmfn_stop() {
  echo "krmfn prelude: $1 (MODELPLANE_RANK '${MODELPLANE_RANK-}', GROVE_PCLQ_POD_INDEX '${GROVE_PCLQ_POD_INDEX-}')" >&2
  exit 64
}
_krmfn_digits() {
  case $1 in '' | 0?* | *[!0123456789]*) return 1 ;; esac
}
_krmfn_put() {
  case $1 in *"$_krmfn_p"*) ;; *) return 1 ;; esac
  _krmfn_t= _krmfn_i=$IFS IFS='$'
  for _krmfn_w in .$1.; do
    case $_krmfn_w in
    "$_krmfn_q"*) _krmfn_t=$_krmfn_t$_krmfn_n${_krmfn_w#"$_krmfn_q"} ;;
    *) _krmfn_t=$_krmfn_t'$'$_krmfn_w ;;
    esac
  done
  IFS=$_krmfn_i
  _krmfn_t=${_krmfn_t#'$.'}
  _krmfn_t=${_krmfn_t%.}
}
[ "$#" -gt 0 ] || _krmfn_stop "there is no command to start"
case ${MODELPLANE_RANK-} in '' | *[!0123456789]*) ;; *) exec "$@" ;; esac
_krmfn_n=${MODELPLANE_RANK-}
_krmfn_n=${_krmfn_n#*+}
_krmfn_n=${_krmfn_n%%+*}
_krmfn_q="((0+$_krmfn_n+GROVE_PCLQ_POD_INDEX))"
_krmfn_p='$'$_krmfn_q
_krmfn_digits "$_krmfn_n" && [ "$MODELPLANE_RANK" = "$_krmfn_p" ] || _krmfn_stop "the rank is no number and no stand-in"
_krmfn_digits "${GROVE_PCLQ_POD_INDEX-}" || _krmfn_stop "the pod index is no number"
: "$((_krmfn_n+=GROVE_PCLQ_POD_INDEX))"
set -f
for _krmfn_v in MODELPLANE_RANK NODE_RANK; do
  eval "_krmfn_put \"\${$_krmfn_v-}\"" && export "$_krmfn_v=$_krmfn_t"
done
case "$*" in *"$_krmfn_p"*)
  _krmfn_k=0 _krmfn_l= _krmfn_m=
  for _krmfn_a in "$@"; do
    _krmfn_put "$_krmfn_a" && _krmfn_a=$_krmfn_t
    eval "_krmfn_$((_krmfn_k+=1))=\$_krmfn_a"
    _krmfn_m="$_krmfn_m \"\$_krmfn_$_krmfn_k\""
    case $_krmfn_k in *00) _krmfn_l=$_krmfn_l$_krmfn_m _krmfn_m= ;; esac
  done
  eval "set -- $_krmfn_l$_krmfn_m"
esac
set +f
exec "$@"
