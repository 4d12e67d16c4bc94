"""The units of quantities, each as a base unit and how many of it one is, by symbol and by name."""

from decimal import Decimal
from typing import Final

_UNITS = {
    "second": "s 1|sec 1|secs 1|second 1|seconds 1|sekund 1|sekunder 1|sekunde 1|sekunden 1|ms 0.001|millisecond 0.001|"
    "milliseconds 0.001|min 60|mins 60|minute 60|minutes 60|minut 60|minuter 60|minuten 60|h 3600|hr 3600|hrs 3600|"
    "hour 3600|hours 3600|timme 3600|timmar 3600|stunde 3600|stunden 3600|day 86400|days 86400|dag 86400|dagar 86400|"
    "tag 86400|tage 86400|tagen 86400|week 604800|weeks 604800|vecka 604800|veckor 604800|woche 604800|wochen 604800",
    "month": "month 1|months 1|månad 1|månader 1|monat 1|monate 1|monaten 1|year 12|years 12|år 12|jahr 12|jahre 12|"
    "jahren 12",
    "metre": "mm 0.001|cm 0.01|m 1|metre 1|metres 1|meter 1|meters 1|metern 1|km 1000|kilometre 1000|kilometres 1000|"
    "kilometer 1000|kilometers 1000|centimetre 0.01|centimetres 0.01|centimeter 0.01|centimeters 0.01",
    "mile": "mile 1|miles 1|mi 1|meile 1|meilen 1",
    "foot": "foot 12|feet 12|ft 12|inch 1|inches 1",
    "gram": "mg 0.001|g 1|gram 1|grams 1|gramm 1|kg 1000|kilo 1000|kilos 1000|kilogram 1000|kilograms 1000|"
    "kilogramm 1000|milligram 0.001|milligrams 0.001|ton 1000000|tons 1000000|tonne 1000000|tonnes 1000000",
    "pound": "lb 1|lbs 1|pound 1|pounds 1|gbp 1|£ 1|pund 1|pfund 1|quid 1",
    "euro": "€ 1|eur 1|euro 1|euros 1|cent 0.01|cents 0.01",
    "dollar": "$ 1|usd 1|dollar 1|dollars 1",
    "krona": "kr 1|sek 1|krona 1|kronor 1|kronen 1",
    "byte": "b 1|byte 1|bytes 1|kb 1000|kilobyte 1000|kilobytes 1000|mb 1000000|megabyte 1000000|megabytes 1000000|"
    "gb 1000000000|gigabyte 1000000000|gigabytes 1000000000|tb 1000000000000|terabyte 1000000000000",
    "percent": "% 1|percent 1|procent 1|prozent 1|pct 1",
    "degree": "° 1|degree 1|degrees 1|grad 1|grader 1|°c 1|celsius 1",
    "fahrenheit": "°f 1|fahrenheit 1",
    "litre": "l 1|litre 1|litres 1|liter 1|liters 1|ml 0.001|dl 0.1|cl 0.01",
}
UNITS: Final = {
    name: (base, Decimal(factor))
    for base, names in _UNITS.items()
    for name, factor in (each.split() for each in names.split("|"))
}
"""By what is written behind or before a number: the base unit, and how many of it one is."""
