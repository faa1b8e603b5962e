"""The functions that a question in SQL may call: those that only read and compute.

Left out is what tells or changes something outside of the views, what waits, and what makes a value
many times as large as those that it is made of (``repeat``, ``bin``, ``list_reduce``): one inside
another, a short question would fill the memory. What is allocated for such a value DuckDB neither
counts nor interrupts. A function that a later DuckDB brings is not allowed until it is named here.
"""

from __future__ import annotations

_OPERATORS = """
!__postfix !~~ !~~* % & && * ** + - ->> / // < <-> << <= <=> <@ = > >= >> @ @> ^ ^@ | || ~ ~~ ~~*
~~~ !=
"""

_TEXT = """
ascii bit_length char_length character_length chr concat concat_ws contains damerau_levenshtein
editdist3 ends_with format_bytes formatreadabledecimalsize formatreadablesize from_base64 hamming
hash ilike_escape instr jaccard jaro_similarity jaro_winkler_similarity lcase left left_grapheme
length length_grapheme levenshtein like_escape lower ltrim md5 md5_number md5_number_lower
md5_number_upper mismatches nfc_normalize not_ilike_escape not_like_escape octet_length ord overlay
parse_dirname parse_dirpath parse_filename parse_path position prefix regexp_extract
regexp_extract_all regexp_full_match regexp_matches regexp_split_to_array regexp_split_to_table
reverse right right_grapheme rtrim sha1 sha256 split split_part starts_with str_split
str_split_regex string_split string_split_regex string_to_array strip_accents strlen strpos substr
substring substring_grapheme suffix translate trim ucase unhex unicode upper decode encode
"""

_NUMBERS = """
abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees
divide even exp factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor isfinite isinf
isnan lcm least least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power
radians random round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor
"""

_TIMES = """
age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part
date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear
days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp
hour isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms
make_timestamp_ns make_timestamptz microsecond millennium millisecond minute month monthname
nanosecond normalized_interval now quarter second strftime strptime time_bucket timezone
timezone_hour timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia
to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today
transaction_timestamp try_strptime week weekday weekofyear year yearweek
"""

_LISTS = """
apply array_append array_apply array_cat array_concat array_contains array_cosine_distance
array_cosine_similarity array_cross_product array_distance array_distinct array_dot_product
array_extract array_filter array_grade_up array_has array_has_all array_has_any array_indexof
array_inner_product array_intersect array_length array_negative_dot_product
array_negative_inner_product array_pop_back array_pop_front array_position array_prepend
array_push_back array_push_front array_reverse array_reverse_sort array_slice array_sort
array_transform array_unique array_value array_where array_zip cardinality element_at filter flatten
grade_up len list_any_value list_append list_apply list_approx_count_distinct list_avg list_bit_and
list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat list_contains
list_cosine_distance list_cosine_similarity list_count list_distance list_distinct list_dot_product
list_element list_entropy list_extract list_filter list_first list_grade_up list_has list_has_all
list_has_any list_indexof list_inner_product list_intersect list_kurtosis list_kurtosis_pop
list_last list_mad list_max list_median list_min list_mode list_negative_dot_product
list_negative_inner_product list_pack list_position list_prepend list_product list_reverse
list_reverse_sort list_sem list_skewness list_slice list_sort list_stddev_pop list_stddev_samp
list_sum list_transform list_unique list_value list_var_pop list_var_samp list_where list_zip unnest
"""

_NESTED = """
json_array_length json_contains json_exists json_extract json_extract_path json_extract_path_text
json_extract_string json_keys json_structure json_type json_valid json_value map map_contains
map_contains_entry map_contains_value map_entries map_extract map_extract_value map_from_entries
map_keys map_values row struct_concat struct_contains struct_extract struct_extract_at struct_has
struct_indexof struct_insert struct_keys struct_pack struct_position struct_update struct_values
union_extract union_tag union_value
"""

_ANY = """
constant_or_null gen_random_uuid if nullif pg_typeof typeof uuid uuid_extract_timestamp uuidv4
uuidv7
"""

_OF_MANY_ROWS = """
any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and
bit_or bit_xor bool_and bool_or corr count count_if count_star countif covar_pop covar_samp
cume_dist dense_rank entropy favg fill first first_value fsum geomean geometric_mean group_concat
histogram histogram_exact kahan_sum kurtosis kurtosis_pop lag last last_value lead list listagg mad
max max_by mean median min min_by mode nth_value ntile percent_rank product quantile quantile_cont
quantile_disc rank rank_dense regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
regr_sxx regr_sxy regr_syy reservoir_quantile row_number sem skewness stddev stddev_pop stddev_samp
string_agg sum sum_no_overflow sumkahan var_pop var_samp variance wavg weighted_avg
"""

_ALL = (_OPERATORS, _TEXT, _NUMBERS, _TIMES, _LISTS, _NESTED, _ANY, _OF_MANY_ROWS)
FUNCTIONS = frozenset(" ".join(_ALL).split())
"""The names of functions and operators that a question may call, in lower case."""
