"""A small memory in English, Chinese and both, and questions whose answers stand in known notes."""

from __future__ import annotations

NOTES = {
    "MEMORY.md": """# Preferences
The user prefers short answers and metric units.
Coffee: flat white, no sugar. Allergic to peanuts.

# 联系人
牙医是李医生，诊所在海淀区中关村大街18号，电话 010-5555-1234。
房东张女士，每月5号交房租，租金 6800 元。

# Work
Employed at Northwind as a data engineer since March 2024. Manager: Priya Raman.
The warehouse migration from Redshift to Snowflake is planned for the second quarter.
""",
    "memory/2026-10-02.md": """# Travel
Booked the night train from Vienna to Venice on 14 November, couchette 23.
The hotel in Venice is Ca' Pisani, confirmation number 88231.

# 项目
决定把搜索服务从 Elasticsearch 换成 SQLite FTS5，原因是部署更简单。
""",
    "memory/2026-10-19.md": """# Garden
Planted garlic in the raised bed on the south side. Harvest in July.
The tomato seedlings died because of frost.

# 会议记录
与王总开会：下一季度预算削减百分之十，招聘暂停到明年二月。
""",
    "memory/2026-11-05.md": """# Health
Knee hurts after running more than 8 km; the physiotherapist said to pause for three weeks.
Next blood test is on 3 December at 8:15, come without breakfast.

# 学习
日语考试 N2 报名截止日期是 12月20日，考场在上海。
""",
    "memory/2026-11-12.md": """# Car
Winter tyres were mounted at Garage Huber, 480 euros. The brake fluid must be changed in spring.

# Deployment
生产环境 deploy 用 blue-green，回滚命令是 `make rollback`，值班同事是陈晨。
Staging runs on port 8443; the certificate expires on 28 February.
""",
    "memory/2026-11-20.md": """# Books
Finished "The Dispossessed" by Le Guin; liked the ending. Next: 三体第二部《黑暗森林》。

# Family
Mother's birthday is on 9 January; she wants a pottery course. 爸爸喜欢钓鱼，送他一根鱼竿。
""",
    "memory/2026-11-28.md": """# Bugs
The importer crashes when a CSV has a byte order mark; fixed by opening it as utf-8-sig.
数据库锁超时的原因是长事务，把批量写入拆成每批 500 行之后解决。

# Kitchen
Recipe for dal: red lentils, cumin, turmeric, fry garlic at the end.
""",
}

QUESTIONS = [
    ("When is the night train to Venice?", "night train from Vienna"),
    ("which hotel did I book and what is the confirmation number", "Ca' Pisani"),
    ("what am I allergic to?", "peanuts"),
    ("who is my manager", "Priya Raman"),
    ("when do we migrate the warehouse", "Snowflake"),
    ("why did the tomato seedlings die", "frost"),
    ("how far can I run before my knee hurts", "Knee hurts"),
    ("next blood test", "3 December"),
    ("what did the winter tyres cost", "480 euros"),
    ("importer crash byte order mark", "utf-8-sig"),
    ("what does mother want for her birthday", "pottery"),
    ("recipe with lentils", "turmeric"),
    ("牙医的电话是多少？", "李医生"),
    ("房租什么时候交", "每月5号"),
    ("为什么换成 SQLite", "Elasticsearch"),
    ("下一季度的预算怎么样了", "百分之十"),
    ("招聘什么时候恢复？", "明年二月"),
    ("日语考试报名截止", "N2"),
    ("爸爸的礼物", "鱼竿"),
    ("数据库锁超时怎么解决的", "500 行"),
    ("deploy 之后怎么回滚", "make rollback"),
    ("谁在值班", "陈晨"),
    ("三体下一本读什么", "黑暗森林"),
    ("staging certificate 什么时候过期", "28 February"),
    ("searching service 部署 FTS5", "部署更简单"),
    ("coffee 怎么点", "flat white"),
    ("诊所地址 海淀", "中关村"),
    ("CSV import utf-8", "byte order mark"),
    ("which book by Le Guin did I finish", "Dispossessed"),
    ("when to harvest garlic", "July"),
]
"""A question, and words of the piece that answers it: English, Chinese, mixed."""
